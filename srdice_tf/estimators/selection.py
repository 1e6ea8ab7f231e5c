"""The settings of linear SR-DICE, and the choice among them without truth."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import itertools

import numpy as np

from srdice_tf import errors
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import features as features_lib
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.estimators import statistics as statistics_lib
from srdice_tf.networks import inputs as inputs_lib

KINDS = RANDOM, ENCODER, ONE_HOT = 'random', 'encoder', 'onehot'
NONE, FLOW = 'none', 'flow'

# The grid: as many features as the config says, and half as many.
_SCALES = (0.5, 1.0, 2.0, 4.0)
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_FRACTIONS = (1.0, 0.5)
# A table needs no smoothing, which would be a bias: lambda is only there for
# pairs that the data never visit, and any lambda will do for these.
_ONE_HOT_RIDGE = 1e-10
_MIN_FEATURES = 2


@dataclasses.dataclass(frozen=True)
class Setting:
  """How the features are made, and lambda.

  Attributes:
    kind: of the features.
    num_features: F; a wish that only random features follow.
    scale: of random features only.
    ridge: lambda.
  """

  kind: str
  num_features: int
  scale: float
  ridge: float


@dataclasses.dataclass(frozen=True)
class Score:
  """What a setting gave.

  Attributes:
    setting: that was tried.
    flow_residual: by two-fold cross-fitting; inf if the system is singular.
    estimate: from all data.
  """

  setting: Setting
  flow_residual: float
  estimate: float


def check(
    config: config_lib.Config, problem: problem_lib.Problem
) -> tuple[str, ...]:
  """Returns the kinds of features that a config asks for.

  Raises:
    UserError: if a field is not one that can be used for the problem.
  """
  if not isinstance(problem.inputs, inputs_lib.VectorInputs):
    raise errors.UserError(
        '--algo=linear_srdice: its features are of vectors; this environment'
        ' has frames.'
    )
  num_episodes = len(np.unique(problem.dataset.episodes))
  if config.select == FLOW and num_episodes < 2:
    raise errors.UserError(
        f'--select={FLOW}: fits one half of the episodes and measures the'
        f' other; the data set has {num_episodes}.'
    )
  return _kinds(config, problem.inputs.is_finite)


def _kinds(config: config_lib.Config, is_finite: bool) -> tuple[str, ...]:
  if config.linear_features == 'auto':
    return (ONE_HOT if is_finite else RANDOM,)
  kinds = tuple(config.linear_features.split(','))
  for kind in kinds:
    if kind not in KINDS:
      raise errors.UserError(
          f"--linear_features={kind}: expected {', '.join(KINDS)} or auto."
      )
  if ONE_HOT in kinds and not is_finite:
    raise errors.UserError(
        f'--linear_features={ONE_HOT}: states and actions must be integers, as'
        f' in a finite MDP; use {RANDOM}.'
    )
  if len(kinds) > 1 and config.select == NONE:
    raise errors.UserError(
        f'--linear_features={config.linear_features}: several kinds are for'
        f' --select={FLOW}.'
    )
  return kinds


def grid(config: config_lib.Config, kinds: tuple[str, ...]) -> list[Setting]:
  """Returns the settings to try: one, unless there is a choice to be made."""
  size, scale = config.linear_num_features, config.linear_scale
  if config.select == NONE:
    ridge = config.linear_ridge
    if kinds[0] == ONE_HOT:
      ridge = min(ridge, _ONE_HOT_RIDGE)
    return [Setting(kinds[0], size, scale, ridge)]
  sizes = sorted({max(int(size * f), _MIN_FEATURES) for f in _FRACTIONS})
  settings = []
  for kind in kinds:
    shapes = [(size, scale)]
    if kind == RANDOM:
      shapes = itertools.product(sizes, _SCALES)
    ridges = _RIDGES if kind != ONE_HOT else (*_RIDGES, _ONE_HOT_RIDGE)
    settings += [Setting(kind, *s, r) for s in shapes for r in ridges]
  return settings


def scores(
    settings: list[Setting],
    accumulator: statistics_lib.Accumulator,
    make_features: Callable[[Setting], features_lib.Features],
) -> Iterator[Score]:
  """Yields a score for each setting; one pass over the data per features."""
  features_of = lambda s: (s.kind, s.num_features, s.scale)
  for _, same in itertools.groupby(settings, features_of):
    same = list(same)
    features = make_features(same[0])
    statistics = accumulator.statistics(features, 2)
    for setting in same:
      size = features.num_features  # Of other kinds it was not known.
      yield _score(
          dataclasses.replace(setting, num_features=size), statistics
      )


def _score(setting, statistics) -> Score:
  try:
    moments = statistics.total(np.ones(statistics.num_groups))
    estimate = moments.value(moments.solve(setting.ridge))
    residual = cross_fitted_residual(statistics, setting.ridge)
  except statistics_lib.SingularError:
    return Score(setting, float('inf'), float('nan'))
  return Score(setting, residual, estimate)


def cross_fitted_residual(
    statistics: statistics_lib.Statistics, ridge: float
) -> float:
  """Returns the flow residual on episodes that the fit did not see.

  Each half of the groups is fitted and measured on the other one.
  """
  is_even = np.arange(statistics.num_groups) % 2 == 0
  missed = []
  for fold in (is_even, ~is_even):
    w = statistics.total(fold.astype(np.float64)).solve(ridge)
    rest = statistics.total((~fold).astype(np.float64))
    missed.append(rest.missed_flow(w))
  return float(np.sqrt(np.mean(np.square(missed))))
