"""The interface of estimators, and the base of those with density ratios."""

from collections.abc import Callable
import hashlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf.estimators import config_fields
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams
from srdice_tf.evaluation import intervals

# What a flow residual was measured on.
FITTED, HELD_OUT, CROSS_FIT = 'fitted', 'held-out', 'cross-fit'


class FlowScore(NamedTuple):
  """By how much ratios miss the flow of the target policy.

  Attributes:
    residual: the flow residual; see `flow`.
    scored_on: the data: those that were fitted, held-out episodes, or each half
      with the fit of the other (cross-fit).
  """

  residual: float
  scored_on: str


class Estimator(tf.Module):
  """Learns R(pi) = (1-gamma) E[sum_t gamma^t r_t] from a data set.

  A subclass has a NAME and a Config, says whether it HAS_RATIOS, sets `phases`,
  and can give an `estimate` at any time of its last phase. It overrides the
  other methods if it knows more than a value; else they return None or nothing.

  Attributes:
    phases: the phases of its training, in order.
  """

  NAME: str
  HAS_RATIOS = False
  # Whether it has ratios of pairs (s, a) that it was not fitted to.
  GENERALISES = True
  Config: type[config_fields.MethodConfig]
  _over_scored = None  # Made when it is needed: it traces `ratio`.

  def __init__(self, problem: problems.Problem, config, seed: int, shared):
    """Makes what is to be trained.

    Args:
      problem: the data, the target policy and the discount.
      config: a Config of this class.
      seed: of everything random.
      shared: shared.Shared, what it has in common with the run's others.

    Raises:
      UserError: if the config cannot be used for the problem.
    """
    super().__init__(name=self.NAME)
    self.problem = problem
    self.config = config
    self.seed = seed
    self.shared = shared
    # Its own streams: the other estimators of a run change nothing.
    self.rng = random_streams.generator(seed, self.NAME)
    self.init_rng = random_streams.numpy_generator(seed, self.NAME)
    self.phases: tuple[phases.Phase, ...] = ()

  @classmethod
  def shared_parts(cls, config) -> tuple[str, ...]:
    """Returns the names of the parts of `shared` that it uses."""
    del config
    return ()

  @classmethod
  def other_methods(cls, config) -> dict[str, str]:
    """Returns which fields name the methods that it is made of, by method."""
    del config
    return {}

  @property
  def sources(self) -> tuple[str, ...]:
    """What its estimate was trained from, by the names of phases.

    Methods that have none in common were trained apart.
    """
    return tuple(phase.name for phase in self.phases)

  def estimate(self) -> tf.Tensor:
    """Returns the (1-gamma)-normalised value as it is now learned."""
    raise NotImplementedError

  def interim_estimate(self) -> tf.Tensor:
    """Returns an estimate during training, on less data if all take long."""
    return self.estimate()

  def ratios(self) -> tf.Tensor | None:
    """Returns the density ratios [n] of the data; None if it has none."""
    return None

  def ratio_of(
      self, problem: problems.Problem
  ) -> Callable[[], tf.Tensor] | None:
    """Returns a function that computes the ratios [n] of another problem."""
    del problem
    return None

  def interval(self) -> intervals.Interval | None:
    """Returns the 95% interval of the estimate; None if it is not known."""
    return None

  def flow_residual(self) -> FlowScore | None:
    """Returns by how much its ratios miss the flow; None without ratios."""
    return None

  def flow_noise(self) -> float | None:
    """Returns how large its flow residual is by chance; None if not known."""
    return None

  def _scored_ratios(self) -> tf.Tensor:
    """Returns the ratios of the data that the flow test is of."""
    if self.shared.scored is None:
      return self.ratios()
    if self._over_scored is None:
      self._over_scored = self.ratio_of(self.shared.scored)
    return self._over_scored()

  def details(self) -> dict[str, float]:
    """Returns further results of the finished estimator, by name."""
    return {}

  def lines(self) -> list[str]:
    """Returns the details as sentences."""
    return []

  def trials(self) -> list[dict]:
    """Returns the settings that were tried, the best first.

    Each has its fields by name, 'estimate' and 'flow_residual'.
    """
    return []


class RatioEstimator(Estimator):
  """An estimator of d_pi/d_D; its value is E_D[ratio r]."""

  HAS_RATIOS = True
  # Made when they are needed: they trace `ratio`.
  _over_data = None
  # Ratios of streamed data, and a hash of the variables that gave them.
  _streamed_ratios = None
  _streamed_version = None

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    # For `estimate`; closed forms leave it at 0.
    self._num_updates = tf.Variable(
        0, trainable=False, dtype=tf.int64, name='num_updates'
    )

  @classmethod
  def shared_parts(cls, config):
    return ('flow_test',)

  def ratio(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns the density ratios [B] of (s, a) as vectors [B, S + A]."""
    raise NotImplementedError

  def density_ratio(self, states, actions) -> tf.Tensor:
    """Returns the density ratios [B] of states and actions."""
    return self.ratio(self.problem.inputs(states, actions))

  def ratios(self):
    if self._over_data is None:
      self._over_data = self.problem.over_data(self.ratio)
    if not self.problem.is_streamed:
      return self._over_data()
    # A report needs them several times, and a pass takes long.
    values = (np.asarray(v.numpy()) for v in self.variables)
    contents = b''.join(value.tobytes() for value in values)
    version = hashlib.sha256(contents).digest()
    if self._streamed_version != version:
      self._streamed_ratios = self._over_data()
      self._streamed_version = version
    return self._streamed_ratios

  def ratio_of(self, problem):
    return problem.over_data(self.ratio)

  def value_of(self, rewards) -> tf.Tensor:
    """Returns the value for any rewards [n] of the data set's transitions.

    Only ratios have it: dr would need a Q of these rewards.
    """
    ratios = self.ratios()  # [n]; closed forms have float64
    return tf.reduce_mean(ratios * tf.cast(rewards, ratios.dtype))

  def estimate(self):
    """Returns E_D[ratio r] over all data, or over `estimate_samples` of them.

    The draw depends on seed, method and number of updates: it changes during
    training, and a resumed run repeats it.
    """
    if not self.config.estimate_samples:
      return self._estimate_of_all()
    name = f'{self.name} {self.seed}'
    stream = tf.constant(random_streams.stable_hash(name), tf.int64)
    index = tf.random.stateless_uniform(
        [self.config.estimate_samples],
        tf.stack([stream, self._num_updates]),
        maxval=self.problem.size,
        dtype=tf.int32,
    )  # [N]
    ratios = self._ratios_at(index)
    rewards = tf.gather(self.problem.rewards, index)
    return tf.reduce_mean(ratios * tf.cast(rewards, ratios.dtype))

  def _count_update(self):
    """Counts a step of the ratios, if estimates are drawn by it."""
    if self.config.estimate_samples:
      self._num_updates.assign_add(1)

  def _estimate_of_all(self) -> tf.Tensor:
    return self.value_of(self.problem.rewards)

  def _ratios_at(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the density ratios [N] of some transitions."""
    return tf.gather(self.ratios(), index)

  def interval(self):
    """Returns the interval of E[ratio r] for the ratios as fitted.

    None if the config asks for no draws.
    """
    if not self.config.bootstrap_draws:
      return None
    return intervals.of_ratios(
        self.ratios().numpy(),
        self.problem.rewards.numpy(),
        self.problem.episodes.numpy(),
        self.config.bootstrap_draws,
        self.seed,
        self.shared.count,
    )

  def flow_residual(self):
    """Returns the residual on held-out episodes, or else on the fitted."""
    flow_test = self.shared.flow_test
    if flow_test is None:
      return None
    scored_on = FITTED if self.shared.held_out is None else HELD_OUT
    return FlowScore(flow_test.residual(self._scored_ratios()), scored_on)

  def flow_noise(self):
    flow_test = self.shared.flow_test
    return flow_test and flow_test.noise(self._scored_ratios())
