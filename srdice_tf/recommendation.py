"""Which of several estimates to go by, chosen without the truth."""

from collections.abc import Callable
from collections.abc import Collection
import math
import statistics

_DOUBLY_ROBUST, _Q = 'dr', 'deep_td'
_RUNS_AWAY = 0.2  # Relative standard error of a sum whose Q is of no use.
# For methods that are as near as each other: by the median error over 21 data
# sets (experiments/results/beyond.md).
_BY_ERROR = (
    'deep_td', 'srdice_closed', 'deep_sr', 'srdice', 'srdice_lstd',
    'linear_srdice',
)


def choose(found: Collection):
  """Returns the method to go by.

  That is the doubly robust one, unless its Q ran away. Without it, the one that
  is nearest to what methods trained apart from it say; of those that are as
  near, as any two are that are all there is, the one that was the nearest to
  the truth in our runs. By the paper's schedule, that is: after a short one
  Deep TD alone was nearer than `dr` (experiments/results/beyond.md).

  Args:
    found: results.MethodResult with evidence, one or more.
  """
  finite = [result for result in found if math.isfinite(result.value)]
  sound = without_lost(finite, _standard_error)
  for result in sound:
    if result.method == _DOUBLY_ROBUST and _standard_error(result) is not None:
      return result
  left = sound or finite or list(found)
  return min(left, key=lambda r: (_distance(r, left), _rank(r)))


def without_lost(found: Collection, error_of: Callable) -> list:
  """Returns the methods that do not rest on a Q that ran away.

  If it has, temporal differences are huge, and so is the error of their sum:
  above 0.7 on the data set where Deep TD ran away, below 0.07 on all others
  (experiments/results/runs/desk).

  Args:
    found: results.MethodResult.
    error_of: gives a result's relative standard error; None if nobody knows.
  """
  sums = [result for result in found if result.method == _DOUBLY_ROBUST]
  errors = [error for error in map(error_of, sums) if error is not None]
  if all(error < _RUNS_AWAY for error in errors):
    return list(found)
  rests_on_q = lambda result: result in sums or _Q in _sources(result)
  return [result for result in found if not rests_on_q(result)]


def are_apart(first, second) -> bool:
  """Returns whether two methods were trained apart from each other."""
  is_same = first.method == second.method
  return not is_same and not _sources(first) & _sources(second)


def _sources(result) -> set[str]:
  return set(result.sources or result.phase_seconds)


def _standard_error(result) -> float | None:
  return result.evidence.standard_error if result.evidence else None


def _distance(result, found: Collection) -> float:
  """Returns how far a value is from the median of those trained apart."""
  others = [other.value for other in found if are_apart(result, other)]
  return abs(statistics.median(others) - result.value) if others else math.inf


def _rank(result) -> int:
  is_known = result.method in _BY_ERROR
  return _BY_ERROR.index(result.method) if is_known else len(_BY_ERROR)
