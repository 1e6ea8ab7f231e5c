"""Which of several estimates to go by, chosen without the truth."""

import math

_DOUBLY_ROBUST = 'dr'
_RUNS_AWAY = 0.2  # Relative standard error of a sum whose Q is of no use.


def rank(result) -> tuple[bool, bool, float]:
  """Returns what is smallest for the method to recommend.

  That is the doubly robust one, unless its Q ran away. Without it, the one that
  is nearest to what methods trained apart from it say, and where there are
  none the first. That was measured with the paper's schedule; after a short one
  Deep TD alone was nearer than `dr` (experiments/results/README.md).

  Args:
    result: a results.MethodResult.
  """
  evidence = result.evidence
  distance = evidence.disagreement if evidence else None
  if distance is None or math.isnan(distance):
    distance = math.inf
  is_lost = not math.isfinite(result.value)
  return is_lost, not _is_doubly_robust(result), distance


def _is_doubly_robust(result) -> bool:
  """Returns whether a method corrects Q by ratios, and Q has not run away.

  If it has, temporal differences are huge, and so is the error of their sum:
  above 0.7 on the data set where Deep TD ran away, below 0.07 on all others
  (experiments/results/runs/desk).
  """
  error = result.evidence.standard_error if result.evidence else None
  is_known = error is not None and error < _RUNS_AWAY
  return result.method == _DOUBLY_ROBUST and is_known
