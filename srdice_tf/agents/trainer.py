"""Trains an agent: collect a block, update from replay, evaluate, repeat."""

from collections.abc import Callable
import dataclasses
import os
import time

import numpy as np
import tensorflow as tf

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import exploration
from srdice_tf.agents import factory
from srdice_tf.agents import policy_returns
from srdice_tf.agents import run_files

Report = Callable[[int, dict[str, float]], None]

_ADVICE = 'remove it to train again'
_EVALUATION_SEED = 7_919  # Far from the seeds of the training episodes.


def _ignore(step: int, values: dict[str, float]):
  del step, values


class AgentTrainer:
  """One run in one directory; goes on where an earlier one was stopped.

  All that is random depends on the seed and on the number of the block or the
  update, so that a resumed run continues the same curve.
  """

  def __init__(
      self,
      config: configs.TrainConfig,
      output_dir: str,
      settings: dict | None = None,
  ):
    """Makes the agent; restores the newest checkpoint, if there is one.

    Args:
      config: the run; without hyper-parameters it gets the default ones.
      output_dir: of the run.
      settings: hyper-parameters that differ from them, by name.
    """
    env = environments.load(config.env_id)
    specs = env.observation_spec(), env.action_spec()
    env.close()
    if config.hyperparameters is None:
      parameters = factory.default_parameters(config.agent, specs[0])
      parameters = configs.override(parameters, settings or {}, config.agent)
      config = dataclasses.replace(config, hyperparameters=parameters)
    self.config = config
    self._parameters = parameters = config.hyperparameters
    factory.check_sizes(config, specs[0])
    self.agent = factory.make_agent(config, *specs)
    self.files = run_files.RunFiles(output_dir)
    self.files.check_config(config)
    self._learner = factory.make_learner(config, self.agent)
    self._collector = collector.Collector(
        config.env_id, parameters.num_envs, config.seed
    )
    self._evaluator = policy_returns.Evaluator(
        config.env_id, config.eval_episodes, config.seed + _EVALUATION_SEED
    )
    self._actions = policy_returns.compiled_actions(self.agent.policy)
    self.step = self.updates = self._block = 0
    self.last_return = float('nan')
    self._last_evaluation = -1  # None yet.
    self._pace = interrupts.Pace()
    self._gather_seconds = self._save_seconds = None  # Of the last ones.
    self._begin_block()
    self.seconds = {'total': 0.0, 'collect': 0.0, 'learn': 0.0}
    self._restore()
    # Where this process began.
    self._first = self.step, self.updates, self.seconds['total']

  def train(self, report: Report = _ignore, log: Report = _ignore):
    """Trains up to the configured number of steps, then saves the policy.

    Args:
      report: is called after each block with the number of steps and the
        values to show.
      log: is called with those to keep after each evaluation.
    """
    try:
      self._train(report, log)
    except KeyboardInterrupt:
      self._keep()
      raise
    self.files.save_policy(self.agent.policy)

  def _train(self, report: Report, log: Report):
    begun = time.time() - self.seconds['total']
    losses = {}
    while True:
      if self._evaluation_is_due():
        log(self.step, {**losses, **self._evaluate()})
        self._keep()
      if self.step >= self.config.num_steps:
        return
      losses = self.train_block()
      self.seconds['total'] = time.time() - begun
      self._check_finite(losses)
      report(self.step, {**losses, 'return': self.last_return})

  def seconds_left(self) -> float:
    """Returns how long the rest takes; NaN before the first update.

    The random steps at first take far less time than those with updates.
    """
    first_step, first_update, first_second = self._first
    updates = self.updates - first_update
    if not updates:
      return float('nan')
    learning = self.seconds['learn']
    others = self.seconds['total'] - first_second - learning
    updates_left = self._updates_due(self.config.num_steps)
    steps_left = self.config.num_steps - self.step
    pace = others / (self.step - first_step)
    return updates_left * learning / updates + steps_left * pace

  def close(self):
    self._learner.close()
    self._collector.close()
    self._evaluator.close()

  def train_block(self) -> dict[str, float]:
    """Collects a block of steps, makes its updates; returns the losses.

    An interrupt saves and ends it, after the collection or some of the updates.
    A resumed run makes the others.
    """
    if not self._is_gathered:
      self._gather()
    total = self._block_updates + self._updates_due(self.step)
    while self._block_updates < total:
      self._learn(total)
    losses = {}
    if total:
      losses = {name: value / total for name, value in self._losses.items()}
    self._block += 1
    self._begin_block()
    return losses

  def _begin_block(self):
    # How far the block is: its steps, its updates and the sums of their losses.
    self._is_gathered, self._block_updates, self._losses = False, 0, {}

  def _gather(self):
    begun = time.time()
    with interrupts.Deferred(self._gather_seconds) as interrupt:
      self.step += self._learner.gather(
          self._collector, self._exploration(), self._parameters.block_steps
      )
      self._is_gathered = True
      self._gather_seconds = time.time() - begun
      self.seconds['collect'] += self._gather_seconds
    self._stop_if(interrupt)

  def _learn(self, total: int):
    """Makes some of the updates of the block."""
    begun, first = time.time(), self._block_updates
    size = self._pace.size(total - first)
    with interrupts.Deferred(self._pace.seconds(size)) as interrupt:
      losses = self._losses_of(total, range(first, first + size))
      for name, value in losses.items():
        self._losses[name] = self._losses.get(name, 0.0) + size * value
      self._block_updates += size
      self.updates += size
      self._pace.note(size, time.time() - begun)
      self.seconds['learn'] += time.time() - begun
    self._stop_if(interrupt)

  def _losses_of(self, total: int, part: range) -> dict[str, float]:
    """Makes a part of the updates; returns their mean losses."""
    try:
      return self._learner.learn(total, (self.config.seed, self._block), part)
    except tf.errors.InvalidArgumentError as error:
      # TF-Agents' DQN looks at its loss itself.
      if 'Loss is inf or nan' not in str(error):
        raise
      return {'loss': float('nan')}

  def _stop_if(self, interrupt: interrupts.Deferred):
    if interrupt.received is not None:
      self._keep()
    interrupt.reraise()

  def _updates_due(self, step: int) -> int:
    """Returns how many updates are due at that step."""
    learnt_steps = step - self._parameters.random_steps
    due = int(learnt_steps * self._parameters.updates_per_step) - self.updates
    return max(due, 0)

  def _exploration(self) -> exploration.Actions:
    explore = (
        exploration.gaussian
        if self.config.agent == 'td3'
        else exploration.epsilon_greedy
    )
    rng = np.random.default_rng([self.config.seed, self._block])
    spec = self._collector.env.action_spec()
    return explore(self._actions, spec, self._parameters, self.step, rng)

  def _evaluation_is_due(self) -> bool:
    every, last = self.config.eval_every, self._last_evaluation
    is_last = self.step >= self.config.num_steps and self.step > last
    return last < 0 or self.step // every > last // every or is_last

  def _evaluate(self) -> dict[str, float]:
    """Adds a point to the curve; returns its mean and deviation."""
    # The same start states each time: points differ by the policy only.
    returns = self._evaluator.returns(self._actions, episode=0)
    self.last_return = float(returns.mean())
    point = {
        'step': self.step,
        'updates': self.updates,
        'mean_return': self.last_return,
        'std_return': float(returns.std(ddof=1)) if len(returns) > 1 else 0.0,
        'seconds': round(self.seconds['total'], 1),
    }
    self.files.add_point(point, factory.policy_network(self.agent))
    self._last_evaluation = self.step
    return {key: point[key] for key in ('mean_return', 'std_return')}

  def _check_finite(self, losses: dict[str, float]):
    bad = [name for name, loss in losses.items() if not np.isfinite(loss)]
    if bad:
      raise errors.at(
          self.config.env_id,
          f'the {bad[0]} of agent={self.config.agent} is {losses[bad[0]]} at'
          f' step {self.step}, expected a finite number',
          f'the last checkpoint in {self.files.path()} is an earlier one',
      )

  # Checkpoints.

  def _keep(self):
    """Saves, unless nothing is done yet or a loss is not finite."""
    if self.step and np.isfinite(list(self._losses.values())).all():
      with interrupts.Deferred(self._save_seconds) as interrupt:
        begun = time.time()
        self._save()
        self._save_seconds = time.time() - begun
      interrupt.reraise()

  def _save(self):
    # A block may be saved in the middle of its updates.
    number = self.step + self.updates
    self.files.checkpoints.save(number, self._write_checkpoint)

  def _write_checkpoint(self, directory: str):
    checkpoint = tf.train.Checkpoint(agent=self.agent)
    checkpoint.write(os.path.join(directory, 'agent'))
    self._learner.save(directory)
    np.savez(
        os.path.join(directory, 'counters.npz'),
        step=self.step,
        updates=self.updates,
        block=self._block,
        is_gathered=self._is_gathered,
        block_updates=self._block_updates,
        seconds=self.seconds['total'],
        **self._collector.state(),
    )

  def _restore(self):
    directory = self.files.checkpoints.latest()
    if directory is None:
      self.files.truncate_curve(-1)  # The first point is made again, too.
      return
    try:
      self._read_checkpoint(directory)
    except (
        KeyError, ValueError, TypeError, AssertionError, tf.errors.OpError
    ) as error:
      reason = str(error).strip().splitlines()[0]
      raise errors.at(
          directory, f'does not fit this run ({reason})', _ADVICE
      ) from error
    self.files.truncate_curve(self.step)
    curve = self.files.curve()
    if not curve:
      found = 'has a checkpoint but no learning curve'
      raise errors.at(self.files.path(), found, _ADVICE)
    self.last_return = curve[-1]['mean_return']
    self._last_evaluation = int(curve[-1]['step'])

  def _read_checkpoint(self, directory: str):
    checkpoint = tf.train.Checkpoint(agent=self.agent)
    status = checkpoint.read(os.path.join(directory, 'agent'))
    status.assert_existing_objects_matched()
    self._learner.restore(directory)
    with np.load(os.path.join(directory, 'counters.npz')) as state:
      self._collector.restore(state)
      self.step = int(state['step'])
      self.updates = int(state['updates'])
      self._block = int(state['block'])
      self._is_gathered = bool(state['is_gathered'])
      self._block_updates = int(state['block_updates'])
      self.seconds['total'] = float(state['seconds'])
