"""The settings of linear SR-DICE, and the choice among them by flow."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import itertools

import numpy as np

from srdice_tf import errors
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import problems
from srdice_tf.estimators.linear import group_sums

KINDS = RANDOM, ENCODER, ONE_HOT, SUCCESSOR = (
    'random', 'encoder', 'onehot', 'successor'
)
NONE, FLOW = 'none', 'flow'

# The grid: as many features as the config says, and half as many.
_SCALES = (0.5, 1.0, 2.0, 4.0)
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
# Trained features are few and told apart well: smaller ones serve them.
_SUCCESSOR_RIDGES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
_FRACTIONS = (1.0, 0.5)
# A table needs no smoothing, which would only add bias. Lambda is there for
# pairs (s, a) without data, and any positive number will do for these.
_ONE_HOT_RIDGE = 1e-10
_MIN_FEATURES = 2


@dataclasses.dataclass(frozen=True)
class LinearSetting:
  """How the features are made, and lambda.

  Attributes:
    kind: one of KINDS.
    num_features: F of random features; other kinds have their own.
    scale: scale of random features; other kinds have none.
    ridge: lambda.
  """

  kind: str
  num_features: int
  scale: float
  ridge: float


@dataclasses.dataclass(frozen=True)
class Trial:
  """A setting that was tried.

  Attributes:
    setting: the setting.
    flow_residual: by two-fold cross-fitting; inf if the system is singular.
    estimate: the value from all data; NaN if the system is singular.
  """

  setting: LinearSetting
  flow_residual: float
  estimate: float

  def as_dict(self) -> dict:
    """Returns the fields of the setting and of the trial, by name."""
    return {
        **dataclasses.asdict(self.setting),
        'flow_residual': self.flow_residual,
        'estimate': self.estimate,
    }


def check(
    name: str, config, problem: problems.Problem
) -> tuple[str, ...]:
  """Returns the kinds of features that a LinearSRDICEConfig asks for.

  Args:
    name: of the estimator.
    config: a LinearSRDICEConfig.
    problem: what is fitted.

  Raises:
    UserError: if a field cannot be used for the problem.
  """
  if not problem.has_vectors:
    raise errors.UserError(
        'algo',
        name,
        'its features are of vectors, but this environment has frames; there,'
        ' srdice and srdice_closed have ratios',
    )
  num_episodes = len(np.unique(problem.episodes))
  if config.select == FLOW and num_episodes < 2:
    raise errors.UserError(
        'select',
        FLOW,
        'fits one half of the episodes and measures the other; the data set has'
        f' {num_episodes}',
    )
  return _kinds(config, problem.inputs.is_finite)


def _kinds(config, is_finite: bool) -> tuple[str, ...]:
  if config.linear_features == 'auto':
    return (ONE_HOT if is_finite else RANDOM,)
  kinds = tuple(config.linear_features.split(','))
  for kind in kinds:
    if kind not in KINDS:
      raise errors.UserError(
          'linear_features', kind, f'expected {", ".join(KINDS)} or auto'
      )
  if ONE_HOT in kinds and not is_finite:
    raise errors.UserError(
        'linear_features',
        ONE_HOT,
        'states and actions must be integers, as in a finite MDP; use'
        f' {RANDOM}',
    )
  if len(kinds) > 1 and config.select == NONE:
    raise errors.UserError(
        'linear_features',
        config.linear_features,
        f'several kinds are for select={FLOW}',
    )
  return kinds


def grid(config, kinds: tuple[str, ...]) -> list[LinearSetting]:
  """Returns the settings to try: only one without select=flow."""
  size, scale = config.linear_num_features, config.linear_scale
  if config.select == NONE:
    ridge = config.linear_ridge
    if kinds[0] == ONE_HOT:
      ridge = min(ridge, _ONE_HOT_RIDGE)
    return [LinearSetting(kinds[0], size, scale, ridge)]
  sizes = sorted({max(int(size * f), _MIN_FEATURES) for f in _FRACTIONS})
  settings = []
  for kind in kinds:
    shapes = [(size, scale)]
    if kind == RANDOM:
      shapes = itertools.product(sizes, _SCALES)
    ridges = _SUCCESSOR_RIDGES if kind == SUCCESSOR else _RIDGES
    if kind == ONE_HOT:
      ridges = (*_RIDGES, _ONE_HOT_RIDGE)
    settings += [LinearSetting(kind, *s, r) for s in shapes for r in ridges]
  return settings


def trials(
    settings: list[LinearSetting],
    accumulator: group_sums.Accumulator,
    make_features: Callable[[LinearSetting], feature_maps.Features],
) -> Iterator[Trial]:
  """Yields what each setting gives; one pass over the data per features."""
  features_of = lambda s: (s.kind, s.num_features, s.scale)
  for _, same in itertools.groupby(settings, features_of):
    same = list(same)
    features = make_features(same[0])
    sums = accumulator.sums(features, 2)
    for setting in same:
      size = features.num_features  # Not all kinds follow the setting.
      yield _try(
          dataclasses.replace(setting, num_features=size), sums
      )


def _try(setting, sums) -> Trial:
  try:
    moments = sums.total(np.ones(sums.num_groups))
    estimate = moments.value(moments.solve(setting.ridge))
    residual = cross_fitted_residual(sums, setting.ridge)
  except group_sums.SingularError:
    return Trial(setting, float('inf'), float('nan'))
  return Trial(setting, residual, estimate)


def cross_fitted_residual(
    sums: group_sums.GroupSums, ridge: float
) -> float:
  """Returns the flow residual on episodes that the fit did not see.

  Each half of the groups is fitted and measured on the other one.
  """
  is_even = np.arange(sums.num_groups) % 2 == 0
  missed = []
  for fold in (is_even, ~is_even):
    w = sums.total(fold.astype(np.float64)).solve(ridge)
    rest = sums.total((~fold).astype(np.float64))
    missed.append(rest.missed_flow(w))
  return float(np.sqrt(np.mean(np.square(missed))))
