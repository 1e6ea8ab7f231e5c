"""How well density ratios fit the flow of the target policy, without truth.

The true ratio satisfies for every function f

  E_D[ratio (f(s, a) - gamma not_done f(s', a'))] = (1-gamma) E[f(s0, a0)].

The flow residual is the root mean square of the difference over random f.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf import memory
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import problems

NUM_FUNCTIONS = 200
# See feature_maps.RandomLayer. Functions that vary more quickly differ at s and
# s' like noise, and its sampling error hides what the ratios miss.
_SCALES = (0.125, 0.25, 0.5)
MOST_TRANSITIONS = 50_000  # The most that trained ratios are scored on.
_CHUNK = 1024  # Transitions whose functions are computed together.
_NUM_DRAWS = 100  # Of the bootstrap for the sampling noise.
_SEED = 20_210_718  # Fixed, so that all runs have the same functions.


class TestFunctions:
  """Cosines of random sums of (s, a), each with root mean square 1."""

  __test__ = False  # Tells pytest that this is no test.

  def __init__(
      self,
      expectations: action_expectations.Expectations,
      standardisation: tuple[np.ndarray, np.ndarray],
      num_functions: int = NUM_FUNCTIONS,
  ):
    """Draws the functions and measures their size over the data."""
    self._expectations = expectations
    problem = expectations.problem
    self._problem = problem
    self._functions = feature_maps.RandomLayer(
        standardisation,
        num_functions,
        np.resize(_SCALES, num_functions),
        np.random.default_rng(_SEED),
        activation=lambda sums: tf.cos(np.pi * sums),
        has_constant=False,
    )
    self.num_functions = num_functions
    total = tf.zeros([num_functions])
    for index, _ in problem.passing(_CHUNK):
      values = self._functions(problem.loaded.state_actions(index))  # [B, J]
      total += tf.reduce_sum(tf.square(values), axis=0)
    self._size = tf.sqrt(total / problem.size)  # [J]

  def differences(self, index: tf.Tensor) -> tf.Tensor:
    """Returns f(s, a) - gamma not_done E[f(s', a')], [B, J]."""
    return (
        discounted_difference(self._functions, self._expectations, index)
        / self._size
    )

  def starts(self, index: tf.Tensor) -> tf.Tensor:
    """Returns E[f(s0, a0)] [B, J] of the start states `index`."""
    support = self._expectations.start_support(index)
    return self._functions.expected(support) / self._size


def discounted_difference(features, expectations, index, now=None):
  """Returns phi(s, a) - gamma not_done E[phi(s', a')], [B, F]."""
  problem = expectations.problem.loaded
  if now is None:
    now = features(problem.state_actions(index))
  after = features.expected(expectations.next_support(index))
  not_done = tf.gather(problem.not_done, index)[:, None]  # [B, 1]
  return now - problem.gamma * not_done * after


@dataclasses.dataclass(frozen=True)
class FlowTestConfig(config_fields.NextActions):
  """How expectations of the test functions are computed."""


class FlowTest:
  """Test functions over a data set, for any ratios of its transitions."""

  Config = FlowTestConfig

  def __init__(self, problem: problems.Problem, config: FlowTestConfig):
    """Computes the functions over the data, once.

    Args:
      problem: whose transitions the ratios weight.
      config: with the number of actions at each s'; see Expectations.
    """
    problem, self._every = problem.thinned(MOST_TRANSITIONS)
    rng = tf.random.Generator.from_seed(_SEED)
    expectations = action_expectations.Expectations(
        problem, config.linear_next_actions, rng
    )
    functions = TestFunctions(
        expectations, feature_maps.standardisation(problem)
    )
    self._gamma = problem.gamma
    self._episodes = problem.episodes
    self._differences = problems.map_chunks(
        functions.differences, problem.size, _CHUNK
    )  # [n / every, J]
    self._each_start = problems.map_chunks(
        functions.starts, problem.num_starts, _CHUNK
    )  # [m, J]
    self._starts = tf.reduce_mean(self._each_start, 0)  # [J]
    memory.give_back()

  def residual(self, ratios) -> float:
    """Returns the flow residual of ratios [n]."""
    ratios = tf.cast(ratios[:: self._every], tf.float32)
    means = tf.linalg.matvec(self._differences, ratios, transpose_a=True)
    means /= float(self._differences.shape[0])  # [J]
    return float(losses.flow_residual(means, self._starts, self._gamma))

  def noise(self, ratios) -> float | None:
    """Returns how large the residual of ratios [n] is by chance alone.

    By a bootstrap that draws episodes and start states; None if there is but
    one episode.
    """
    ratios = tf.cast(ratios[:: self._every], tf.float32)
    _, index = np.unique(self._episodes, return_inverse=True)
    counts = np.bincount(index).astype(np.float64)  # [E]
    if len(counts) < 2:
      return None
    sums = tf.math.unsorted_segment_sum(
        self._differences * ratios[:, None], index, len(counts)
    )  # [E, J]
    rng = np.random.default_rng(_SEED)
    drawn = _draws(rng, len(counts))  # [R, E]
    starts = _draws(rng, len(self._each_start)) @ self._each_start.numpy()
    starts /= len(self._each_start)  # [R, J]
    means = (drawn @ sums.numpy()) / (drawn @ counts)[:, None]  # [R, J]
    missed = means - (1.0 - self._gamma) * starts  # [R, J]
    # A bootstrap of n units has the variance with n, not with n - 1.
    correction = len(counts) / (len(counts) - 1)
    return float(np.sqrt(correction * missed.var(axis=0).mean()))


def _draws(rng: np.random.Generator, size: int) -> np.ndarray:
  """Returns how often each of `size` units is drawn, [R, size]."""
  return rng.multinomial(size, np.full(size, 1.0 / size), _NUM_DRAWS).astype(
      np.float64
  )
