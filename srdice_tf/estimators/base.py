"""What an estimator is."""

from collections.abc import Callable
import hashlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.networks import layers

START_POOL = 'start_pool'  # The stream of the start pairs.


class Phase(NamedTuple):
  """A stretch of training with one kind of step.

  Attributes:
    name: unique within a run; estimators that share a phase share the object.
    num_steps: how many steps it takes.
    step: draws a minibatch, updates, and returns metrics; traced once.
    prepare: computes what the phase takes as frozen; before its first step,
      and again when a run resumes in it.
    compiled: whether steps run in one compiled call. A closed form is a phase
      of one step that is not compiled; what it solves for are variables.
    cost: about how long a step takes, in successor steps; to foresee the time
      of phases that have not begun.
  """

  name: str
  num_steps: int
  step: Callable[[], dict[str, tf.Tensor]]
  prepare: Callable[[], None] = lambda: None
  compiled: bool = True
  cost: float = 1.0


class Estimator(tf.Module):
  """Learns R(pi) = (1-gamma) E[sum_t gamma^t r_t] from a data set.

  Subclasses set `phases` and give `estimate`, a scalar tensor, at any time of
  their last phase.
  """

  def __init__(
      self,
      name: str,
      problem: problem_lib.Problem,
      config: config_lib.Config,
      seed: int,
  ):
    super().__init__(name=name)
    self.problem = problem
    self.config = config
    self.seed = seed
    # Each estimator has its own stream, whatever else the run holds.
    self.rng = generator(seed, name)
    self.init_rng = np.random.default_rng([seed, stable_hash(name)])
    self.phases: tuple[Phase, ...] = ()

  def estimate(self) -> tf.Tensor:
    """Returns the (1-gamma)-normalised value as it is now learned."""
    raise NotImplementedError

  def interim_estimate(self) -> tf.Tensor:
    """Returns an estimate on the way, of part of the data if all take long."""
    return self.estimate()

  def details(self) -> dict[str, float]:
    """Returns further results of the finished estimator, by name."""
    return {}


class RatioEstimator(Estimator):
  """An estimator of d_pi/d_D; its value is E_D[ratio r]."""

  _over_data = None

  def __init__(self, *args):
    super().__init__(*args)
    # See `estimate`; of closed forms it stays 0.
    self._num_updates = tf.Variable(
        0, trainable=False, dtype=tf.int64, name='num_updates'
    )

  def ratio(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns the density ratios [B] of (s, a) as vectors [B, S + A]."""
    raise NotImplementedError

  def density_ratio(self, states, actions) -> tf.Tensor:
    """Returns the density ratios [B] of states and actions."""
    return self.ratio(self.problem.inputs(states, actions))

  def ratios(self) -> tf.Tensor:
    """Returns the density ratios [n] of the data set."""
    if self._over_data is None:
      self._over_data = self.problem.over_data(self.ratio)
    return self._over_data()

  def value_of(self, rewards) -> tf.Tensor:
    """Returns the value for any rewards [n] of the data set's transitions."""
    ratios = self.ratios()  # [n], of closed forms in float64
    return tf.reduce_mean(ratios * tf.cast(rewards, ratios.dtype))

  def estimate(self) -> tf.Tensor:
    """Returns E_D[ratio r], of all data or of `estimate_samples` drawn.

    Which are drawn depends on seed, method and updates: after other updates
    other ones, and again the same where a run resumes.
    """
    if not self.config.estimate_samples:
      return self._estimate_of_all()
    stream = tf.constant(stable_hash(f'{self.name} {self.seed}'), tf.int64)
    index = tf.random.stateless_uniform(
        [self.config.estimate_samples],
        tf.stack([stream, self._num_updates]),
        maxval=self.problem.size,
        dtype=tf.int32,
    )  # [N]
    ratios = self._ratios_at(index)
    rewards = tf.gather(self.problem.dataset.rewards, index)
    return tf.reduce_mean(ratios * tf.cast(rewards, ratios.dtype))

  def _count_update(self):
    """Counts a step of the ratios, if that is asked for."""
    if self.config.estimate_samples:
      self._num_updates.assign_add(1)

  def _estimate_of_all(self) -> tf.Tensor:
    return self.value_of(self.problem.dataset.rewards)

  def _ratios_at(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the density ratios [N] of some transitions."""
    return tf.gather(self.ratios(), index)


def stable_hash(name: str) -> int:
  return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def generator(seed: int, name: str) -> tf.random.Generator:
  """Returns a generator whose stream depends on seed and name."""
  state = np.random.SeedSequence([seed, stable_hash(name)])
  return tf.random.Generator.from_seed(int(state.generate_state(1)[0]))


def feature_step_cost(config) -> float:
  """Returns what a step of w on cached features costs; see Phase."""
  return 0.02 * config.ratio_batch_size / config.batch_size


def ratio_adam(config, learning_rate: float = 0.0):
  """Returns Adam for the few weights of a ratio, w or u."""
  rate = learning_rate or config.ratio_learning_rate or config.learning_rate
  return layers.adam(rate, config.ratio_adam_epsilon or config.adam_epsilon)


def gradient_step(optimizers, variables, loss_function) -> tf.Tensor:
  """Takes one step down the loss.

  Args:
    optimizers: one, or several with variables each.
    variables: a list, or a list for each of several optimisers.
    loss_function: returns the loss, a scalar.

  Returns:
    The loss before the step, known only after it: what depends on it reads the
    new variables.
  """
  if not isinstance(optimizers, tuple):
    optimizers, variables = (optimizers,), (variables,)
  with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(variables)
    loss = loss_function()
  gradients = tape.gradient(loss, variables)
  # Said explicitly: Grappler loses the order of a read before an assignment,
  # and a late read would see the new value, in some runs.
  with tf.control_dependencies([loss, *tf.nest.flatten(gradients)]):
    applied = [
        optimizer.apply_gradients(zip(*pairs))
        for optimizer, *pairs in zip(optimizers, gradients, variables)
    ]
  with tf.control_dependencies(applied):
    return tf.identity(loss)


def saddle_step(minimizer, minimized, maximizer, maximized, objective):
  """Takes a step down for some variables, then one up for others.

  Args:
    minimizer: optimiser of `minimized`.
    minimized: variables that go down.
    maximizer: optimiser of `maximized`.
    maximized: variables that go up, with the new values of the others.
    objective: returns a scalar.

  Returns:
    The objective before both.
  """
  value = gradient_step(minimizer, minimized, objective)
  with tf.control_dependencies([value]):
    gradient_step(maximizer, maximized, lambda: -objective())
  return value


def update_target(target, source, config, count: tf.Variable, after):
  """Lets a target network follow its source, when `after` is known.

  Args:
    target: the network that follows.
    source: the network that was updated.
    config: says how: by a share tau, or by a copy each so many updates.
    count: of the updates so far.
    after: a tensor of the source's update.
  """
  pairs = list(zip(target.trainable_variables, source.trainable_variables))
  with tf.control_dependencies([after]):
    if not config.target_interval:
      for old, new in pairs:
        old.assign_add(config.tau * (new - old))
      return
    is_due = tf.equal(count.assign_add(1) % config.target_interval, 0)
    tf.cond(is_due, lambda: _copy(pairs), lambda: None)


def _copy(pairs):
  for old, new in pairs:
    old.assign(new)
