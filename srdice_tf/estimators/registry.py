"""Estimators by name. A new one is a file, a line here and a test."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import difflib

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import deep_sr
from srdice_tf.estimators import deep_td
from srdice_tf.estimators import doubly_robust
from srdice_tf.estimators import dual_dice
from srdice_tf.estimators import gradient_dice
from srdice_tf.estimators import interface
from srdice_tf.estimators import problems
from srdice_tf.estimators import shared
from srdice_tf.estimators import srdice
from srdice_tf.estimators import srdice_closed
from srdice_tf.estimators.linear import linear_srdice
from srdice_tf.estimators.linear import srdice_lstd
from srdice_tf.estimators.tabular import tabular_dual_dice
from srdice_tf.estimators.tabular import tabular_srdice

ESTIMATORS: dict[str, type[interface.Estimator]] = {
    'srdice': srdice.SRDICE,
    'srdice_closed': srdice_closed.SRDICEClosed,
    'deep_sr': deep_sr.DeepSR,
    'deep_td': deep_td.DeepTD,
    'dual_dice': dual_dice.DualDICE,
    'gradient_dice': gradient_dice.GradientDICE,
    'tabular_srdice': tabular_srdice.TabularSRDICE,
    'tabular_dual_dice': tabular_dual_dice.TabularDualDICE,
    'linear_srdice': linear_srdice.LinearSRDICE,
    'srdice_lstd': srdice_lstd.SRDICELstd,
    'dr': doubly_robust.DoublyRobust,
}


def check_names(names: Sequence[str], field: str = 'algo'):
  """Raises a UserError if a name is unknown or repeated, or there is none."""
  ranges.check_list(field, names)
  for name in names:
    if name not in ESTIMATORS:
      near = difflib.get_close_matches(name, ESTIMATORS, n=1)
      hint = f'did you mean {near[0]}? There are' if near else 'there are'
      raise errors.UserError(
          field, name, f'no such estimator; {hint} {", ".join(ESTIMATORS)}'
      )


def check_has_ratios(name: str, field: str):
  """Raises a UserError if there is no such method, or none with ratios."""
  check_names([name], field)
  if not ESTIMATORS[name].HAS_RATIOS:
    raise errors.UserError(field, name, 'this method has no density ratios')


def make_estimators(
    names: Sequence[str],
    problem: problems.Problem,
    hyperparameters,
    seed: int,
    held_out: problems.Problem | None = None,
    count: Callable[[int], Iterable[int]] = range,
) -> dict[str, interface.Estimator]:
  """Returns estimators by name, which share what they have in common.

  Args:
    names: of the estimators.
    problem: what is fitted.
    hyperparameters: hyperparameters.Hyperparameters.
    seed: of everything random.
    held_out: what is not fitted but scored on, if anything.
    count: counts long work, and may say how long it is going to take.

  Raises:
    UserError: if a name is unknown, or a method cannot be used for the problem.
  """
  check_names(names)
  parts = shared.Shared(
      problem, hyperparameters, seed, held_out, count, _make
  )
  return {name: parts.method(name) for name in names}


def _make(
    name: str, problem: problems.Problem, seed: int, parts: shared.Shared
) -> interface.Estimator:
  check_names([name])
  method = ESTIMATORS[name]
  config = parts.hyperparameters.of(method.Config)
  return method(problem, config, seed, parts)
