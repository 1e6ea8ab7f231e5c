"""Estimators by name. A new one is a file, a line here and a test."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import functools

from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges
from srdice_tf.estimators import base
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import deep_sr
from srdice_tf.estimators import deep_td
from srdice_tf.estimators import dual_dice
from srdice_tf.estimators import gradient_dice
from srdice_tf.estimators import linear_srdice
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.estimators import representation
from srdice_tf.estimators import srdice
from srdice_tf.estimators import srdice_closed
from srdice_tf.estimators import tabular_dual_dice
from srdice_tf.estimators import tabular_srdice

# Those over the successor representation share one.
_OVER_REPRESENTATION = {
    'srdice': srdice.SRDICE,
    'srdice_closed': srdice_closed.SRDICEClosed,
    'deep_sr': deep_sr.DeepSR,
}
_OTHERS = {
    'deep_td': deep_td.DeepTD,
    'dual_dice': dual_dice.DualDICE,
    'gradient_dice': gradient_dice.GradientDICE,
    'tabular_srdice': tabular_srdice.TabularSRDICE,
    'tabular_dual_dice': tabular_dual_dice.TabularDualDICE,
}
_LINEAR = 'linear_srdice'  # Over the representation only if asked to.
NAMES = (*_OVER_REPRESENTATION, *_OTHERS, _LINEAR)


def check_names(names: Sequence[str]):
  """Raises an error if a name is unknown or there twice, or there is none."""
  ranges.check_list('algo', names)
  for name in names:
    if name not in NAMES:
      raise errors.UserError(
          f"--algo={name}: no such estimator; there are {', '.join(NAMES)}."
      )


def make_estimators(
    names: Sequence[str],
    problem: problem_lib.Problem,
    config: config_lib.Config,
    seed: int,
    count_draws: Callable[[int], Iterable[int]] = range,
) -> dict[str, base.Estimator]:
  """Returns estimators by name; what they can share they share.

  Args:
    names: of the estimators.
    problem: the data and the policy.
    config: hyper-parameters.
    seed: of all that is random.
    count_draws: counts the draws of the bootstrap that is part of an estimator.
  """
  check_names(names)
  if any(name in _OVER_REPRESENTATION for name in names):
    limits.check_memory(
        'num_features', config.num_features, lambda f: 4 * problem.size * f
    )
  shared = functools.cache(
      lambda: representation.Representation(problem, config, seed)
  )
  estimators = {}
  for name in names:
    if name in _OVER_REPRESENTATION:
      estimators[name] = _OVER_REPRESENTATION[name](shared(), seed)
    elif name == _LINEAR:
      estimators[name] = linear_srdice.LinearSRDICE(
          problem, config, seed, shared, count_draws
      )
    else:
      estimators[name] = _OTHERS[name](problem, config, seed)
  return estimators
