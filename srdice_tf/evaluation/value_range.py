"""Ranges of doubly robust values: what others would have said instead.

A bootstrap knows how much a sum varies with the episodes. It does not know that
ratios and values may be wrong, which is most of the error. What is known of
that without the truth: how much the sum changes if another method gives the
ratios, if another network gives Q, and if one of the two is left out.
"""

import math
from typing import NamedTuple

import numpy as np

# Fixed on runs of Pendulum, Reacher and Hopper; srdice_tf/estimators/README.md
# says how often the ranges hold the truth there and elsewhere.
_DISAGREEMENTS = 1.0


def all_sums(ratios, differences, start, rewards) -> np.ndarray:
  """Returns the doubly robust sums of all pairs of ratios and values.

  Args:
    ratios: [n, J].
    differences: [n, K] temporal differences of Q.
    start: [K] (1-gamma) E[Q(s0, a0)].
    rewards: [n].

  Returns:
    [K + 1, J + 1]; without Q, E[ratio r], in the last row, without ratios,
    (1-gamma) E[Q(s0, a0)], in the last column, and NaN without both.
  """
  size = len(ratios)
  both = start[:, None] + differences.T @ ratios / size  # [K, J]
  rows = np.concatenate([both, (rewards @ ratios / size)[None]])  # [K+1, J]
  column = np.append(start, np.nan)  # [K + 1]
  return np.concatenate([rows, column[:, None]], axis=1)


class ValueRange(NamedTuple):
  """Where the value may lie; no interval of a known probability.

  Attributes:
    low: its lower end.
    high: its upper end.
    disagreement: how far the farthest of the other sums is from the estimate.
  """

  low: float
  high: float
  disagreement: float


def around(
    estimate: float, half_width: float, sums: np.ndarray
) -> ValueRange:
  """Returns the range around an estimate.

  Args:
    estimate: one of the sums.
    half_width: of the bootstrap's 95% interval; 0 if there is none.
    sums: of `all_sums`; those that are not finite are left out.
  """
  others = sums[np.isfinite(sums)]
  disagreement = float(np.abs(others - estimate).max(initial=0.0))
  half = math.hypot(half_width, _DISAGREEMENTS * disagreement)
  return ValueRange(estimate - half, estimate + half, disagreement)
