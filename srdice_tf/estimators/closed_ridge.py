"""The ridge of SR-DICE's closed form, chosen without the truth.

Each half of the episodes is fitted, and scored by the flow residual of its
ratios on the other half. phi and psi are those of all episodes.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.estimators import flow
from srdice_tf.estimators import least_squares
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams

RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


class ClosedSystem(NamedTuple):
  """What the closed form of w is solved from.

  Attributes:
    squares: G, over the features of some transitions.
    start: [F] (1-gamma) E[psi(s0, a0)].
    means: [F] E[(1-gamma not_done) phi], of which w.means must be 1-gamma; None
      if nothing is asked of it.
    gamma: discount.
  """

  squares: least_squares.LeastSquares
  start: tf.Tensor
  means: tf.Tensor | None
  gamma: float

  def weights(self, ridge: float) -> tf.Tensor:
    """Returns w [F] in float64."""
    squares = self.squares.with_ridge(ridge)
    if self.means is None:
      return squares.solve(self.start)
    return squares.solve_with(self.start, self.means, 1.0 - self.gamma)


def flow_means(problem: problems.Problem, features: tf.Tensor) -> tf.Tensor:
  """Returns E[(1-gamma not_done) phi] [F].

  Ratios w.phi have the flow of the constant if w times it is 1-gamma.
  """
  ends = 1.0 - problem.gamma * problem.not_done  # [n]
  return least_squares.mean_product(features, ends)


class _Half(NamedTuple):
  """One half of the episodes: its features, its system and its flow test."""

  features: tf.Tensor
  system: ClosedSystem
  flow_test: flow.FlowTest


def trials(
    representation, config: flow.FlowTestConfig, has_mass: bool, seed: int
) -> list[dict[str, float]]:
  """Returns each ridge with its flow residual, the best first.

  Args:
    representation: with frozen phi and psi.
    config: of the flow test.
    has_mass: whether the ratios are to have the flow of the constant.
    seed: of the start pairs.
  """
  halves = [
      _half(representation, config, has_mass, seed, parity)
      for parity in range(2)
  ]
  found = [{'ridge': r, 'flow_residual': _score(halves, r)} for r in RIDGES]
  return sorted(found, key=lambda trial: trial['flow_residual'])


def check(problem):
  """Raises a UserError if no ridge can be chosen.

  That is if there are no two episodes or no vectors, or data are streamed.
  """
  if problem.is_streamed:
    raise errors.UserError(
        'closed_select', 'flow', 'needs all features in memory; the data are'
        ' streamed'
    )
  if not problem.has_vectors or problem.num_starts < 2:
    found = 'has but one' if problem.has_vectors else 'is of frames'
    raise errors.UserError(
        'closed_select',
        'flow',
        'scores ratios of vectors on episodes that were not fitted; the data'
        f' set {found}',
    )


def _half(representation, config, has_mass, seed, parity: int) -> _Half:
  whole = representation.problem
  numbers = np.arange(whole.num_starts)
  problem = whole.of_episodes(numbers[numbers % 2 == parity])
  (rows,) = np.nonzero(whole.episodes.numpy() % 2 == parity)
  features = tf.gather(representation.features, rows)  # [n / 2, F]
  rng = random_streams.generator(seed, random_streams.START_POOL)
  pool = problem.start_pool(representation.config.start_pool, rng)
  successors = problem.map_inputs(representation.successor, pool)  # [P, F]
  start = tf.reduce_mean(tf.cast(successors, tf.float64), 0)
  system = ClosedSystem(
      least_squares.LeastSquares(least_squares.gram_of(features), RIDGES[0]),
      (1.0 - problem.gamma) * start,
      flow_means(problem, features) if has_mass else None,
      problem.gamma,
  )
  return _Half(features, system, flow.FlowTest(problem, config))


def _score(halves: list[_Half], ridge: float) -> float:
  """Returns the root mean square over both halves; inf if one is singular."""
  residuals = []
  for fitted, other in (halves, halves[::-1]):
    try:
      w = fitted.system.weights(ridge)
    except errors.UserError:
      return float('inf')
    ratios = tf.linalg.matvec(other.features, tf.cast(w, tf.float32))
    residuals.append(other.flow_test.residual(ratios))
  return float(np.sqrt(np.mean(np.square(residuals))))
