"""Sums over groups of episodes, from which linear SR-DICE is solved.

In float64: products in float32 would change C by about 1e-7 of its size, which
is as much as a small ridge adds, and the estimate would equal LSTD-Q's value to
three digits only. Features are computed in float32, chunk by chunk, and not
kept.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import limits
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import flow
from srdice_tf.estimators import problems

CHUNK = 4096  # Transitions whose features are in memory at a time.
_CACHED = 1024  # Transitions whose features fit into the processor's cache.
# Relative to the right side; with more the solution is rounding error.
_MAX_RESIDUAL = 1e-6
_MAX_GROUPS = 64
_GROUP_BYTES = 2 * 2**30
_WORKING_COPIES = 12
_ROWS = 8  # Sums over groups that are in memory at a time.


class SingularError(ArithmeticError):
  """The system has no solution in float64."""


@dataclasses.dataclass(frozen=True)
class GroupSums:
  """Sums over the transitions and start states of K groups of episodes.

  Attributes:
    products: [K, F, F + J + 1] sums of phi x^T, where x is, side by side,
      phi - gamma phi' of size F, the same difference of J test functions, and
      the reward.
    squares: [K] sums of |phi|^2, the trace of G.
    starts: [K, F] sums of phi0.
    test_starts: [K, J] sums of the test functions at the start.
    counts: [K] transitions.
    start_counts: [K] start states.
    gamma: discount.
  """

  products: np.ndarray
  squares: np.ndarray
  starts: np.ndarray
  test_starts: np.ndarray
  counts: np.ndarray
  start_counts: np.ndarray
  gamma: float

  @property
  def num_groups(self) -> int:
    return len(self.counts)

  def total(self, weights: np.ndarray) -> 'Moments':
    """Returns the moments of the data, with weights [K] for the groups."""
    (moments,) = self.totals(weights[None])
    return moments

  def totals(self, weights: np.ndarray) -> Iterator['Moments']:
    """Yields the moments of the data for each row of weights [R, K].

    The sums are read once for several rows at a time.
    """
    flat = self.products.reshape(self.num_groups, -1)
    # Groups without start states use those of all data.
    has_starts = weights @ self.start_counts > 0  # [R]
    start_weights = np.where(has_starts[:, None], weights, 1.0)  # [R, K]
    counts, start_counts = self.counts, self.start_counts
    for begin in range(0, len(weights), _ROWS):
      part = slice(begin, begin + _ROWS)
      sums = (weights[part] @ flat).reshape(-1, *self.products.shape[1:])
      for products, row, start_row in zip(
          sums, weights[part], start_weights[part]
      ):
        yield Moments(
            products / (row @ counts),
            float(row @ self.squares / (row @ counts)),
            start_row @ self.starts / (start_row @ start_counts),
            start_row @ self.test_starts / (start_row @ start_counts),
            self.gamma,
        )


@dataclasses.dataclass(frozen=True)
class Moments:
  """Means over data: see GroupSums for the shapes, without K."""

  products: np.ndarray
  trace: float
  starts: np.ndarray
  test_starts: np.ndarray
  gamma: float

  @property
  def num_features(self) -> int:
    return len(self.products)

  def matrix(self, ridge: float) -> np.ndarray:
    """Returns C + ridge trace(G) / F I, [F, F]."""
    matrix = self.products[:, : self.num_features].copy()
    matrix.flat[:: self.num_features + 1] += (
        ridge * self.trace / self.num_features
    )
    return matrix

  def solve(self, ridge: float) -> np.ndarray:
    """Returns w = (1-gamma) C^-T phi0, [F].

    A feature that is 0 for all data, such as that of a pair (s, a) without data
    or of a dead unit, gets weight 0. The other weights do not depend on it, and
    its own would be an arbitrary number divided by the ridge.

    Raises:
      SingularError: if C is singular in float64.
    """
    seen = self.products.any(axis=1)  # [F]
    matrix, starts = self.matrix(ridge), self.starts
    if not seen.all():
      matrix, starts = matrix[np.ix_(seen, seen)], starts[seen]
    try:
      solution = np.linalg.solve(matrix.T, starts)
    except np.linalg.LinAlgError as error:
      raise SingularError from error
    residual = np.linalg.norm(solution @ matrix - starts)
    if not residual <= _MAX_RESIDUAL * np.linalg.norm(starts):
      raise SingularError
    w = np.zeros(self.num_features)
    w[seen] = (1.0 - self.gamma) * solution
    return w

  def value(self, w: np.ndarray) -> float:
    """Returns E[w.phi r]."""
    return float(w @ self.products[:, -1])

  def missed_flow(self, w: np.ndarray) -> np.ndarray:
    """Returns by how much w.phi misses the flow of each function, [J]."""
    differences = w @ self.products[:, self.num_features : -1]
    return differences - (1.0 - self.gamma) * self.test_starts


def bootstrap(
    sums: GroupSums,
    ridge: float,
    num_draws: int,
    rng: np.random.Generator,
    count: Callable[[int], Iterable[int]] = range,
) -> np.ndarray:
  """Returns values [draws], each solved from groups drawn with replacement.

  Whole groups of episodes are drawn. A draw that is singular gives NaN.
  `count` counts the draws.
  """
  num_groups = sums.num_groups
  if np.sum(sums.counts > 0) < 2:
    return np.full(num_draws, np.nan)  # Nothing to choose from.
  shares = np.full(num_groups, 1.0 / num_groups)
  weights = rng.multinomial(num_groups, shares, num_draws).astype(np.float64)
  values = np.full(num_draws, np.nan)
  for i, moments in zip(count(num_draws), sums.totals(weights)):
    try:
      values[i] = moments.value(moments.solve(ridge))
    except SingularError:
      continue
  return values


def num_groups_of(num_episodes: int, num_features: int) -> int:
  """Returns how many groups of episodes to keep sums of.

  An even number, for two folds, and for the bootstrap as many as fit a fixed
  amount of memory. It does not depend on the free memory, so that results do
  not either.
  """
  limit = int(_GROUP_BYTES // _bytes(num_features))
  return max(min(num_episodes, limit, _MAX_GROUPS) // 2 * 2, 2)


def check_memory(field: str, num_features: int):
  """Raises a UserError with the largest possible number of features."""
  available = limits.available_bytes()
  # Two groups, several sums of them, a matrix and its factors.
  if _WORKING_COPIES * _bytes(num_features) <= available:
    return
  most = 64
  while _WORKING_COPIES * _bytes(most + 64) <= available:
    most += 64
  raise errors.UserError(
      field,
      num_features,
      f'needs {_WORKING_COPIES * _bytes(num_features) / 2**30:,.1f} GiB of'
      f' memory, {available / 2**30:,.1f} GiB are free: at most {most}'
      ' features',
  )


def _bytes(num_features: int) -> int:
  """Returns the size of one group's products."""
  return 8 * num_features * (num_features + flow.NUM_FUNCTIONS + 1)


def group_of_episodes(num_episodes: int, num_groups: int) -> np.ndarray:
  """Returns the group of each episode, [episodes], in turn.

  With an even number of groups, even groups have the even episodes.
  """
  return np.arange(num_episodes) % num_groups


def _parts(size: int) -> Iterator[slice]:
  """Yields parts of a chunk whose features are computed together."""
  for low in range(0, size, _CACHED):
    yield slice(low, min(low + _CACHED, size))


class Accumulator:
  """Computes the sums of a problem, for any features."""

  def __init__(
      self,
      expectations: action_expectations.Expectations,
      functions: flow.TestFunctions,
  ):
    self._expectations = expectations
    self._functions = functions
    self._problem = expectations.problem
    self._episodes = self._problem.episodes.numpy()  # [n]
    self.num_episodes = int(self._episodes.max()) + 1
    self._tests = None
    if not self._problem.is_streamed:
      # [n, J + 1]: differences of the test functions, and rewards.
      self._tests = problems.map_chunks(
          self._tests_of, self._problem.size
      ).numpy()
    self._test_starts = self._over_starts(functions.starts)  # [m, J]

  def sums(
      self, features: feature_maps.Features, num_groups: int
  ) -> GroupSums:
    """Passes over the data once."""
    groups = group_of_episodes(self.num_episodes, num_groups)
    of_transitions = groups[self._episodes]  # [n]
    num_starts = self._problem.num_starts
    start_groups = np.resize(groups, num_starts)  # [m]
    products, squares = self._products(features, of_transitions, num_groups)
    support = self._expectations.start_support
    starts = self._over_starts(lambda i: features.expected(support(i)))
    deal = (start_groups == np.arange(num_groups)[:, None]).astype(np.float64)
    return GroupSums(
        products,
        squares,
        deal @ starts,
        deal @ self._test_starts,
        np.bincount(of_transitions, minlength=num_groups).astype(np.float64),
        deal.sum(1),
        self._problem.gamma,
    )

  def gram(self, features: feature_maps.Features) -> np.ndarray:
    """Returns G = E[phi phi^T], [F, F]."""
    phi = problems.by_index(
        lambda index: features(self._problem.loaded.state_actions(index))
    )
    total = np.zeros((features.num_features, features.num_features))
    rows = np.empty((CHUNK, features.num_features))
    for index, _ in self._problem.passing(CHUNK):
      size = len(index)
      for part in _parts(size):
        rows[part] = phi(index[part])
      total += rows[:size].T @ rows[:size]
    return total / self._problem.size

  def _rows(self, features, index):
    """Returns phi and phi - gamma phi', both [B, F]."""
    now = features(self._problem.loaded.state_actions(index))  # [B, F]
    difference = flow.discounted_difference(
        features, self._expectations, index, now
    )
    return now, difference

  def _tests_of(self, index):
    rewards = tf.gather(self._problem.loaded.rewards, index)  # [B]
    return tf.concat(
        [self._functions.differences(index), rewards[:, None]], axis=-1
    )

  def _products(self, features, groups, num_groups):
    num_features = features.num_features
    rows = problems.by_index(lambda index: self._rows(features, index))
    width = num_features + self._functions.num_functions + 1
    products = np.zeros((num_groups, num_features, width))
    squares = np.zeros(num_groups)
    left = np.empty((CHUNK, num_features))
    right = np.empty((CHUNK, width))
    tests = self._tests_at()
    for index, numbers in self._by_groups(groups):
      size = len(index)
      for part in _parts(size):
        now, difference = rows(tf.constant(index[part]))
        left[part] = now
        right[part, :num_features] = difference
        right[part, num_features:] = tests(index[part])
      # Small groups share a chunk, large ones take several.
      present, first = np.unique(groups[numbers], return_index=True)
      for group, low, high in zip(present, first, [*first[1:], size]):
        products[group] += left[low:high].T @ right[low:high]
        squares[group] += np.vdot(left[low:high], left[low:high])
    return products, squares

  def _tests_at(self) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function that gives the tests [B, J + 1] of numbers [B]."""
    if self._tests is not None:
      return lambda index: self._tests[index]
    compiled = problems.by_index(self._tests_of)
    return lambda index: compiled(tf.constant(index)).numpy()

  def _by_groups(
      self, groups: np.ndarray
  ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Passes over the data, group by group within a chunk; see `passing`.

    Args:
      groups: [n] of the transitions.
    """
    if self._problem.is_streamed:
      for index, numbers in self._problem.passing(CHUNK):
        order = np.argsort(groups[numbers], kind='stable')
        yield index.numpy()[order], numbers[order]
      return
    order = np.argsort(groups, kind='stable').astype(np.int32)  # [n]
    for begin in range(0, len(order), CHUNK):
      yield (order[begin : begin + CHUNK],) * 2

  def _over_starts(self, function) -> np.ndarray:
    """Returns function(index) for all start states, in float64."""
    values = problems.map_chunks(function, self._problem.num_starts)
    return values.numpy().astype(np.float64)
