"""Ranges of doubly robust values: what others would have said instead.

A bootstrap knows how much a sum varies with the episodes. It does not know that
ratios and values may be wrong, which is most of the error. What is known of
that without the truth: how much the sum changes if another method gives the
ratios, if another network gives Q, and if one of the two is left out.
"""

import numpy as np


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
