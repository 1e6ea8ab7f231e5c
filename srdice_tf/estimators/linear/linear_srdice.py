"""SR-DICE in closed form, with a linear successor representation.

With psi(s, a) = G C^-T phi(s, a) by LSTD, where G = E[phi phi^T] and
C = E[phi (phi - gamma phi')^T], SR-DICE's w solves G w = (1-gamma) E[psi0]:

  w = (1-gamma) C^-T phi0,   ratio = w.phi(s, a).

Its estimate E[ratio r] is LSTD-Q's value, by theorem 4.
"""

import dataclasses
import functools
import json

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import flow
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import random_streams
from srdice_tf.estimators.linear import grid_search
from srdice_tf.estimators.linear import group_sums
from srdice_tf.evaluation import intervals


@dataclasses.dataclass(frozen=True)
class LinearSRDICEConfig(config_fields.Ratios, config_fields.NextActions):
  """Features and ridge, or that they are to be chosen.

  Attributes:
    select: How the settings of linear_srdice are chosen: none takes them as
      given, flow tries a grid and takes those with the smallest flow residual.
    linear_features: Features of linear_srdice: random, encoder, successor,
      onehot or auto; with select=flow a list is possible.
    linear_num_features: Number of random features of linear_srdice, including
      the constant.
    linear_scale: Scale of the weights of linear_srdice's random features.
    linear_ridge: Ridge lambda of linear_srdice, added to C as a share of the
      mean diagonal of G.
  """

  select: str = ranges.one_of(('none', 'flow'), 'none')
  linear_features: str = 'auto'
  linear_num_features: int = ranges.at_least(2, 512)
  linear_scale: float = ranges.positive(1.0)
  linear_ridge: float = ranges.at_least(0, 1e-3)

  def needed_bytes(self):
    # A matrix; how many it takes depends on the problem.
    return {
        **super().needed_bytes(),
        'linear_num_features': lambda size: 8 * size * size,
    }


class LinearSRDICE(interface.RatioEstimator):
  """Ratio w.phi(s, a) from one pass over the data and one linear system."""

  NAME = 'linear_srdice'
  Config = LinearSRDICEConfig

  def __init__(self, problem, config, seed, shared):
    """Checks the config; the work is done in the phase."""
    super().__init__(problem, config, seed, shared)
    kinds = grid_search.check(self.NAME, config, problem)
    self._settings = tuple(grid_search.grid(config, kinds))
    self._features = self._make_features(kinds)
    for setting in self._settings:
      size = self._size_of(setting)
      group_sums.check_memory('linear_num_features', size)
    self._kind = tf.Variable(grid_search.KINDS.index(kinds[0]), trainable=False)
    self._w = _result([0.0])
    self._ridge = _result(config.linear_ridge)
    self._flow_residual = _result(np.nan)
    self._draws = _result([np.nan])
    self._groups = tf.Variable(0, trainable=False)
    # As JSON in a variable, so that checkpoints keep what was tried.
    self._trials = tf.Variable('[]', trainable=False)
    self.phases = (
        *self._training(kinds),
        phases.Phase(
            self.NAME, 1, self._solve, compiled=False, cost=750_000.0
        ),
    )

  @classmethod
  def shared_parts(cls, config):
    parts = super().shared_parts(config)
    trained = {grid_search.ENCODER, grid_search.SUCCESSOR}
    if trained.intersection(config.linear_features.split(',')):
      return ('representation', *parts)
    return parts

  def _training(self, kinds) -> tuple[phases.Phase, ...]:
    """Returns the phases that train the features."""
    if grid_search.SUCCESSOR in kinds:
      return self.shared.representation.phases
    if grid_search.ENCODER in kinds:
      return self.shared.representation.phases[:1]
    return ()

  def _make_features(self, kinds):
    """Returns the features of each kind; `_use` draws random ones again."""
    made = {}
    if grid_search.RANDOM in kinds:
      made[grid_search.RANDOM] = self._random(self._settings[0])
    if grid_search.ENCODER in kinds:
      made[grid_search.ENCODER] = feature_maps.Encoded(
          self.shared.representation
      )
    if grid_search.SUCCESSOR in kinds:
      made[grid_search.SUCCESSOR] = feature_maps.SuccessorLayer(
          self.shared.representation
      )
    if grid_search.ONE_HOT in kinds:
      made[grid_search.ONE_HOT] = feature_maps.OneHot(self.problem.inputs)
    return made

  @functools.cached_property
  def _standardisation(self):
    return feature_maps.standardisation(self.problem)

  def _random(self, setting) -> feature_maps.RandomLayer:
    # The seed of a layer does not depend on which others are tried.
    name = f'{self.name} {setting.num_features} {setting.scale}'
    return feature_maps.RandomLayer(
        self._standardisation,
        setting.num_features,
        setting.scale,
        random_streams.numpy_generator(self.seed, name),
    )

  def _features_of(self, setting) -> feature_maps.Features:
    if setting.kind == grid_search.RANDOM:
      return self._random(setting)
    return self._features[setting.kind]

  def _size_of(self, setting) -> int:
    if setting.kind == grid_search.RANDOM:
      return setting.num_features
    return self._features[setting.kind].num_features

  @functools.cached_property
  def _accumulator(self) -> group_sums.Accumulator:
    rng = random_streams.generator(self.seed, self.name)
    expectations = action_expectations.Expectations(
        self.problem, self.config.linear_next_actions, rng
    )
    functions = flow.TestFunctions(expectations, self._standardisation)
    return group_sums.Accumulator(expectations, functions)

  def _solve(self):
    """Chooses a setting, solves, and draws the bootstrap."""
    accumulator, setting = self._accumulator, self._settings[0]
    if len(self._settings) > 1:
      tried = sorted(
          grid_search.trials(self._settings, accumulator, self._features_of),
          key=lambda trial: trial.flow_residual,
      )
      self._trials.assign(json.dumps([trial.as_dict() for trial in tried]))
      setting = tried[0].setting
    self._use(setting)
    num_groups = group_sums.num_groups_of(
        accumulator.num_episodes, self._size_of(setting)
    )
    sums = accumulator.sums(self.features, num_groups)
    try:
      moments = sums.total(np.ones(num_groups))
      self._w.assign(moments.solve(setting.ridge))
    except group_sums.SingularError as error:
      raise errors.UserError(
          'linear_ridge',
          setting.ridge,
          f'the system of {self._size_of(setting)} features is singular; try a'
          ' larger lambda, such as 1e-6, or fewer features',
      ) from error
    self._flow_residual.assign(_residual(sums, setting.ridge))
    self._groups.assign(num_groups)
    self._draws.assign(
        group_sums.bootstrap(
            sums,
            setting.ridge,
            self.config.bootstrap_draws,
            random_streams.numpy_generator(self.seed, 'bootstrap'),
            self.shared.count,
        )
    )
    return {
        'num_features': self._size_of(setting),
        'ridge': setting.ridge,
    }

  def _use(self, setting):
    """Takes the features and the ridge of a setting."""
    self._kind.assign(grid_search.KINDS.index(setting.kind))
    self._ridge.assign(setting.ridge)
    if setting.kind == grid_search.RANDOM:
      self._features[setting.kind].assign(self._random(setting))
    # Both were traced with other features.
    self._over_data, self._over_held_out = None, None

  @property
  def features(self) -> feature_maps.Features:
    """The features in use."""
    with tf.init_scope():  # Gives a number also while a function is traced.
      return self._features[grid_search.KINDS[int(self._kind)]]

  def flow_residual(self):
    """Returns the residual on held-out episodes, or else by cross-fitting.

    Each half of the episodes is scored with the fit of the other; None if
    there is only one.
    """
    if self.shared.held_out is not None:
      return super().flow_residual()
    residual = float(self._flow_residual)
    if np.isnan(residual):
      return None
    return interface.FlowScore(residual, interface.CROSS_FIT)

  def interval(self):
    """Returns the interval of the bootstrap, which solves for each draw."""
    if not self.config.bootstrap_draws:
      return None
    return intervals.of_draws(
        float(self.estimate()), self.draws, int(self._groups)
    )

  def trials(self):
    return json.loads(self._trials.numpy())

  @property
  def draws(self) -> np.ndarray:
    """Values [draws] of the bootstrap over groups of episodes."""
    return self._draws.numpy()

  def ratio(self, inputs):
    features = tf.cast(self.features(inputs), tf.float64)  # [B, F]
    return tf.linalg.matvec(features, self._w)

  def successor(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns psi = G C^-T phi [B, F] of (s, a) as vectors, in float64."""
    features = tf.cast(self.features(inputs), tf.float64)  # [B, F]
    return tf.matmul(features, self._successor_matrix)

  @functools.cached_property
  def _successor_matrix(self) -> np.ndarray:
    """C^-1 G [F, F]; one more pass over the data, since it is rarely needed."""
    sums = self._accumulator.sums(self.features, 1)
    matrix = sums.total(np.ones(1)).matrix(float(self._ridge))
    return np.linalg.solve(matrix, self._accumulator.gram(self.features))


def _residual(sums, ridge) -> float:
  """Returns the cross-fitted residual; NaN if a half is singular or empty."""
  is_even = np.arange(sums.num_groups) % 2 == 0
  counts = sums.counts
  if not counts[is_even].sum() or not counts[~is_even].sum():
    return float('nan')
  try:
    return grid_search.cross_fitted_residual(sums, ridge)
  except group_sums.SingularError:
    return float('nan')


def _result(value) -> tf.Variable:
  """Returns a variable of any length, for a part of the solution."""
  value = tf.constant(value, tf.float64)
  return tf.Variable(value, trainable=False, shape=[None] * value.shape.rank)
