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
from srdice_tf.agents import evaluation
from srdice_tf.agents import exploration
from srdice_tf.agents import factory
from srdice_tf.agents import run_files

Report = Callable[[int, dict[str, float]], None]

_EVALUATION_SEED = 7_919  # Apart from the seeds of the training episodes.


def _ignore(step: int, values: dict[str, float]):
  del step, values


class Trainer:
  """One run in one directory; begins where an earlier one was stopped.

  All that is random depends on the seed and on the number of the block or of
  the update, so that a resumed run continues the very same curve.
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
    self.agent = factory.make_agent(config, *specs)
    self.files = run_files.RunFiles(output_dir)
    self.files.check_config(config)
    self._learner = factory.make_learner(config, self.agent)
    self._collector = collector.Collector(
        config.env_id, parameters.num_envs, config.seed
    )
    self._evaluator = evaluation.Evaluator(
        config.env_id, config.eval_episodes, config.seed + _EVALUATION_SEED
    )
    self._actions = evaluation.compiled_actions(self.agent.policy)
    self.step = self.updates = self._block = 0
    self.last_return = float('nan')
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
    begun = time.time() - self.seconds['total']
    losses = {}
    if not self.files.curve():
      log(self.step, self._evaluate())
    with interrupts.Deferred() as interrupt:
      while self.step < self.config.num_steps and interrupt.received is None:
        evaluations = self.step // self.config.eval_every
        losses = self.train_block()
        self.seconds['total'] = time.time() - begun
        self._check_finite(losses)
        report(self.step, {**losses, 'return': self.last_return})
        if self.step // self.config.eval_every > evaluations:
          log(self.step, {**losses, **self._evaluate()})
          self._save()
      if interrupt.received is not None:
        self._save()
    interrupt.reraise()
    if interrupt.received is not None:
      return  # Where the signal itself is ignored, as with nohup.
    if self.files.curve()[-1]['step'] < self.step:
      log(self.step, {**losses, **self._evaluate()})
      self._save()
    self.files.save_policy(self.agent.policy)

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
    """Collects a block of steps, makes its updates; returns the losses."""
    begun = time.time()
    self.step += self._learner.gather(
        self._collector, self._exploration(), self._parameters.block_steps
    )
    collected = time.time()
    due, losses = self._updates_due(self.step), {}
    if due > 0:
      losses = self._learner.learn(due, (self.config.seed, self._block))
      self.updates += due
    self._block += 1
    self.seconds['collect'] += collected - begun
    self.seconds['learn'] += time.time() - collected
    return losses

  def _updates_due(self, step: int) -> int:
    """Returns how many updates are to be made before that step."""
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

  def _evaluate(self) -> dict[str, float]:
    """Adds a point to the curve; returns its mean and deviation."""
    # The same start states each time, so that luck does not order the points.
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
    return {key: point[key] for key in ('mean_return', 'std_return')}

  def _check_finite(self, losses: dict[str, float]):
    bad = [name for name, loss in losses.items() if not np.isfinite(loss)]
    if bad:
      raise errors.UserError(
          f'{self.config.env_id}: the {bad[0]} of --agent={self.config.agent}'
          f' is {losses[bad[0]]} at step {self.step}, expected a finite number;'
          f' the last checkpoint in {self.files.path()} is from before.'
      )

  # Checkpoints.

  def _save(self):
    self.files.checkpoints.save(self.step, self._write_checkpoint)

  def _write_checkpoint(self, directory: str):
    checkpoint = tf.train.Checkpoint(agent=self.agent)
    checkpoint.write(os.path.join(directory, 'agent'))
    self._learner.save(directory)
    np.savez(
        os.path.join(directory, 'counters.npz'),
        step=self.step,
        updates=self.updates,
        block=self._block,
        seconds=self.seconds['total'],
        **self._collector.state(),
    )

  def _restore(self):
    directory = self.files.checkpoints.latest()
    if directory is None:
      self.files.truncate_curve(0)
      return
    checkpoint = tf.train.Checkpoint(agent=self.agent)
    status = checkpoint.read(os.path.join(directory, 'agent'))
    status.assert_existing_objects_matched()
    self._learner.restore(directory)
    with np.load(os.path.join(directory, 'counters.npz')) as state:
      self._collector.restore(state)
      self.step = int(state['step'])
      self.updates = int(state['updates'])
      self._block = int(state['block'])
      self.seconds['total'] = float(state['seconds'])
    self.files.truncate_curve(self.step)
    self.last_return = self.files.curve()[-1]['mean_return']
