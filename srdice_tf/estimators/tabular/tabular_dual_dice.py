"""Tabular DualDICE: the matrix solution of the reference code.

With W = diag(n(s, a)) and the Bellman operator I - gamma P_pi over pairs, the
inner maximum of DualDICE's objective is w = f - gamma P_pi f, and the outer
minimum is the f that solves, with B = (I - gamma P_pi)^T W,

  B W^-1 B^T f = (1-gamma) start,     w = W^-1 B^T f.
"""

import dataclasses

import numpy as np

from srdice_tf import ranges
from srdice_tf.estimators.tabular import tabular_estimator


@dataclasses.dataclass(frozen=True)
class TabularDualDICEConfig(tabular_estimator.TabularConfig):
  """The matrices of tabular DualDICE.

  Attributes:
    tabular_regularizer: Regulariser of tabular DualDICE's matrices.
    tabular_discount_data: Whether tabular DualDICE weights step t of an episode
      by gamma^t.
  """

  tabular_regularizer: float = ranges.at_least(0, 1e-8)
  tabular_discount_data: bool = False


class TabularDualDICE(tabular_estimator.TabularEstimator):
  """Ratios of pairs (s, a), which need no knowledge of the behaviour policy.

  With `tabular_discount_data` step t of an episode has the weight gamma^t, as
  in DualDICE's paper.
  """

  NAME = 'tabular_dual_dice'
  Config = TabularDualDICEConfig

  def _is_discounted(self):
    return self.config.tabular_discount_data

  def _solve(self):
    counts, gamma = self._counts, self.problem.gamma
    regularizer = self.config.tabular_regularizer
    size = counts.policy.size  # S A, the number of pairs.
    totals = counts.distribution.ravel() * self.problem.size  # [S A]
    after = np.einsum(
        'it,tb->itb', counts.transition.reshape(size, -1), counts.policy
    ).reshape(size, size)  # P_pi [S A, S A]
    residuals = (np.eye(size) - gamma * after).T * totals
    residuals /= np.sqrt(regularizer + totals)
    start = (counts.start[:, None] * counts.policy).ravel()  # [S A]
    f = np.linalg.solve(
        residuals @ residuals.T + regularizer * np.eye(size),
        (1.0 - gamma) * self.problem.size * start,
    )  # [S A]
    ratios = (f @ residuals) / np.sqrt(regularizer + totals)  # [S A]
    return ratios.reshape(counts.shape)
