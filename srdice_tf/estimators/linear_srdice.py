"""SR-DICE in closed form, over a successor representation that is linear.

With psi(s, a) = G C^-T phi(s, a) by LSTD, where G = E[phi phi^T] and
C = E[phi (phi - gamma phi')^T], SR-DICE's w solves G w = (1-gamma) E[psi0]:

  w = (1-gamma) C^-T phi0,   ratio = w.phi(s, a).

Its estimate E[ratio r] is LSTD-Q's value: theorem 4.
"""

from collections.abc import Callable
from collections.abc import Iterable
import functools

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.estimators import base
from srdice_tf.estimators import expectations as expectations_lib
from srdice_tf.estimators import features as features_lib
from srdice_tf.estimators import flow
from srdice_tf.estimators import representation as representation_lib
from srdice_tf.estimators import selection
from srdice_tf.estimators import statistics as statistics_lib


class LinearSRDICE(base.RatioEstimator):
  """Ratio w.phi(s, a) from one pass over the data and one linear system.

  Attributes:
    scores: of the settings that `--select=flow` tried, the best first; empty
      where it was not asked for, or was done by an earlier process.
    num_groups: of episodes, which the bootstrap draws.
  """

  def __init__(
      self,
      problem,
      config,
      seed,
      representation: Callable[[], representation_lib.Representation],
      count_draws: Callable[[int], Iterable[int]] = range,
  ):
    """Checks the config; the work is done in the phase.

    Args:
      problem: the data and the policy.
      config: hyper-parameters.
      seed: of features, actions and the bootstrap.
      representation: gives the trained phi; called only if it is asked for.
      count_draws: counts the draws of the bootstrap.
    """
    super().__init__('linear_srdice', problem, config, seed)
    self._seed = seed
    self._count_draws = count_draws
    kinds = selection.check(config, problem)
    self._settings = tuple(selection.grid(config, kinds))
    self._features = self._make_features(kinds, representation)
    for setting in self._settings:
      size = self._size_of(setting)
      statistics_lib.check_memory('--linear_num_features', size)
    self._kind = tf.Variable(selection.KINDS.index(kinds[0]), trainable=False)
    self._w = _result([0.0])
    self._ridge = _result(config.linear_ridge)
    self._flow_residual = _result(np.nan)
    self._draws = _result([np.nan])
    self._groups = tf.Variable(0, trainable=False)
    self.scores: tuple[selection.Score, ...] = ()
    encoder = ()
    if selection.ENCODER in kinds:
      encoder = representation().phases[:1]
    self.phases = (
        *encoder,
        base.Phase(
            'linear_srdice', 1, self._solve, compiled=False, cost=3_000.0
        ),
    )

  def _make_features(self, kinds, representation):
    """Returns the features of each kind; random ones are drawn anew later."""
    made = {}
    if selection.RANDOM in kinds:
      made[selection.RANDOM] = self._random(self._settings[0])
    if selection.ENCODER in kinds:
      made[selection.ENCODER] = features_lib.Encoded(representation())
    if selection.ONE_HOT in kinds:
      made[selection.ONE_HOT] = features_lib.OneHot(self.problem.inputs)
    return made

  @functools.cached_property
  def _standardisation(self):
    return features_lib.standardisation(self.problem)

  def _random(self, setting: selection.Setting) -> features_lib.RandomLayer:
    # The seed of a layer does not depend on which others are tried.
    name = f'{self.name} {setting.num_features} {setting.scale}'
    return features_lib.RandomLayer(
        self._standardisation,
        setting.num_features,
        setting.scale,
        np.random.default_rng([self._seed, base.stable_hash(name)]),
    )

  def _features_of(self, setting) -> features_lib.Features:
    if setting.kind == selection.RANDOM:
      return self._random(setting)
    return self._features[setting.kind]

  def _size_of(self, setting) -> int:
    if setting.kind == selection.RANDOM:
      return setting.num_features
    return self._features[setting.kind].num_features

  @functools.cached_property
  def _accumulator(self) -> statistics_lib.Accumulator:
    rng = base.generator(self._seed, self.name)
    expectations = expectations_lib.Expectations(
        self.problem, self.config.linear_next_actions, rng
    )
    functions = flow.TestFunctions(expectations, self._standardisation)
    return statistics_lib.Accumulator(expectations, functions)

  def _solve(self):
    """Chooses a setting, solves, and draws the bootstrap."""
    accumulator, setting = self._accumulator, self._settings[0]
    if len(self._settings) > 1:
      tried = selection.scores(
          self._settings, accumulator, self._features_of
      )
      self.scores = tuple(
          sorted(tried, key=lambda score: score.flow_residual)
      )
      setting = self.scores[0].setting
    self._use(setting)
    num_groups = statistics_lib.num_groups_of(
        accumulator.num_episodes, self._size_of(setting)
    )
    statistics = accumulator.statistics(self.features, num_groups)
    try:
      moments = statistics.total(np.ones(num_groups))
      self._w.assign(moments.solve(setting.ridge))
    except statistics_lib.SingularError as error:
      raise errors.UserError(
          f'--linear_ridge={setting.ridge}: the system of'
          f' {self._size_of(setting)} features is singular; try a larger'
          ' lambda, such as 1e-6, or fewer features.'
      ) from error
    self._flow_residual.assign(_residual(statistics, setting.ridge))
    self._groups.assign(num_groups)
    self._draws.assign(
        statistics_lib.bootstrap(
            statistics,
            setting.ridge,
            self.config.bootstrap_draws,
            np.random.default_rng([self._seed, base.stable_hash('bootstrap')]),
            self._count_draws,
        )
    )
    metrics = {}
    # One episode has no halves to score on: that is no divergence.
    if np.isfinite(self.flow_residual):
      metrics['flow_residual'] = self.flow_residual
    return metrics | {
        'num_features': self._size_of(setting),
        'ridge': setting.ridge,
    }

  def _use(self, setting):
    """Makes a setting the one that is kept in checkpoints."""
    self._kind.assign(selection.KINDS.index(setting.kind))
    self._ridge.assign(setting.ridge)
    if setting.kind == selection.RANDOM:
      self._features[setting.kind].assign(self._random(setting))
    self._over_data = None  # Was traced for other features.

  @property
  def features(self) -> features_lib.Features:
    """The features in use."""
    with tf.init_scope():  # A number even where a function is being traced.
      return self._features[selection.KINDS[int(self._kind)]]

  @property
  def flow_residual(self) -> float:
    """By two-fold cross-fitting; NaN if there are not two episodes."""
    return float(self._flow_residual)

  @property
  def draws(self) -> np.ndarray:
    """Values [draws] of the bootstrap over groups of episodes."""
    return self._draws.numpy()

  @property
  def num_groups(self) -> int:
    return int(self._groups)

  def ratio(self, inputs):
    features = tf.cast(self.features(inputs), tf.float64)  # [B, F]
    return tf.linalg.matvec(features, self._w)

  def successor(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns psi = G C^-T phi [B, F] of (s, a) as vectors, in float64."""
    features = tf.cast(self.features(inputs), tf.float64)  # [B, F]
    return tf.matmul(features, self._successor_matrix)

  @functools.cached_property
  def _successor_matrix(self) -> np.ndarray:
    """C^-1 G [F, F]; passes over the data again, as nothing else needs it."""
    statistics = self._accumulator.statistics(self.features, 1)
    matrix = statistics.total(np.ones(1)).matrix(float(self._ridge))
    return np.linalg.solve(matrix, self._accumulator.gram(self.features))


def _residual(statistics, ridge) -> float:
  """Returns the cross-fitted residual; NaN if a half is singular or empty."""
  is_even = np.arange(statistics.num_groups) % 2 == 0
  counts = statistics.counts
  if not counts[is_even].sum() or not counts[~is_even].sum():
    return float('nan')
  try:
    return selection.cross_fitted_residual(statistics, ridge)
  except statistics_lib.SingularError:
    return float('nan')


def _result(value) -> tf.Variable:
  """Returns a variable of any length, for what is solved for."""
  value = tf.constant(value, tf.float64)
  return tf.Variable(value, trainable=False, shape=[None] * value.shape.rank)
