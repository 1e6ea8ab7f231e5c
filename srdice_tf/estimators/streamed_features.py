"""Phi over data that come block by block: sums of it, and minibatches."""

from collections.abc import Callable

import tensorflow as tf

from srdice_tf.estimators import problems

_CHUNK = 2048
_RING_SIZE = 32_768  # The most features that minibatches are drawn from.
_FRESH = 256  # Transitions that replace some of them at each step.


class FeatureSums:
  """Means over the data that closed forms need, by one pass, in float64.

  Attributes:
    gram: [F, F] E[phi phi^T].
    mean: [F] E[phi].
    reward_mean: [F] E[r phi].
    end_mean: [F] E[(1 - gamma not_done) phi].
  """

  def __init__(self, problem: problems.Problem, encode: Callable):
    """Passes over the data.

    Args:
      problem: the data.
      encode: phi [B, F] of (s, a).
    """
    loaded = problem.loaded

    def sums(index):
      features = tf.cast(encode(loaded.state_actions(index)), tf.float64)
      rewards = tf.cast(tf.gather(loaded.rewards, index), tf.float64)  # [B]
      goes_on = tf.cast(tf.gather(loaded.not_done, index), tf.float64)  # [B]
      ends = 1.0 - problem.gamma * goes_on  # [B]
      return (
          tf.matmul(features, features, transpose_a=True),  # [F, F]
          tf.reduce_sum(features, axis=0),  # [F]
          tf.linalg.matvec(features, rewards, transpose_a=True),  # [F]
          tf.linalg.matvec(features, ends, transpose_a=True),  # [F]
      )

    compiled, totals = problems.by_index(sums), None
    for index, _ in problem.passing(_CHUNK):
      parts = compiled(index)
      totals = parts if totals is None else [
          total + part for total, part in zip(totals, parts)
      ]
    means = [total / problem.size for total in totals]
    self.gram, self.mean, self.reward_mean, self.end_mean = means


class FeatureRing:
  """The newest features, of which minibatches are drawn with replacement.

  Phi of a large minibatch would cost more than the step that takes it. So each
  step encodes a few transitions, which replace the oldest ones here; one is
  drawn several times before it goes.
  """

  def __init__(self, problem: problems.Problem, encode: Callable, rng):
    """Encodes the first ones.

    Args:
      problem: the data.
      encode: phi [B, F] of (s, a), frozen.
      rng: tf.random.Generator, of what is encoded.
    """
    self._problem, self._encode, self._rng = problem, encode, rng
    self._fresh = min(_FRESH, problem.inputs.chunk_size)
    wanted = min(_RING_SIZE, 4 * problem.size)
    num_parts = max(wanted // self._fresh, 1)
    self._size = num_parts * self._fresh  # N
    fill = tf.function(self._encoded, autograph=False).get_concrete_function()
    parts = [fill() for _ in range(num_parts)]
    self._ring = [
        tf.Variable(tf.concat(part, 0), trainable=False) for part in zip(*parts)
    ]  # [N, F] and [N]
    self._next = tf.Variable(0, trainable=False)

  def _encoded(self) -> tuple[tf.Tensor, tf.Tensor]:
    batch = self._problem.sample(self._fresh, self._rng)
    return self._encode(batch.inputs), batch.rewards

  def sample(self, size: int, rng) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns features [B, F] and rewards [B]."""
    begin = self._next.read_value()
    places = begin + tf.range(self._fresh)
    for variable, part in zip(self._ring, self._encoded()):
      variable.scatter_update(tf.IndexedSlices(part, places))
    self._next.assign((begin + self._fresh) % self._size)
    index = rng.uniform([size], 0, self._size, tf.int32)  # [B]
    return tuple(tf.gather(variable, index) for variable in self._ring)
