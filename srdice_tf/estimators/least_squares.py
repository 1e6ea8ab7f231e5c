"""Closed forms over frozen features, in float64.

With G = E[phi phi^T] + ridge, SR-DICE's w solves G w = (1-gamma) E[psi0] and
Deep SR's solves G w = E[r phi]. Both estimates are the same bilinear form of
G^-1, which is theorem 4.
"""

import copy

import numpy as np
import tensorflow as tf

from srdice_tf import errors

_CHUNK = 2048
_COLUMNS = 16


class LeastSquares:
  """G = E[phi phi^T] with a ridge, and its Cholesky factor."""

  def __init__(self, gram: tf.Tensor, ridge: float):
    """Factorises G.

    Args:
      gram: [F, F] E[phi phi^T] in float64.
      ridge: added to the diagonal, as a share of its mean.

    Raises:
      UserError: if the matrix is singular.
    """
    self._gram = gram
    self._factor = _factor(self._gram, ridge)

  def with_ridge(self, ridge: float) -> 'LeastSquares':
    """Returns the same with another ridge, without another sum."""
    other = copy.copy(self)
    other._factor = _factor(self._gram, ridge)
    return other

  def solve(self, right_side: tf.Tensor) -> tf.Tensor:
    """Returns G^-1 b [F] in float64 of b [F]."""
    right_side = tf.cast(right_side, tf.float64)[:, None]
    return tf.linalg.cholesky_solve(self._factor, right_side)[:, 0]

  def solve_with(
      self, right_side: tf.Tensor, means: tf.Tensor, total: float
  ) -> tf.Tensor:
    """Returns the minimum w [F] of 1/2 w.G w - b.w with means.w = total.

    It differs from G^-1 b by a multiple of G^-1 means, however near the
    features are to each other. If all means are 0, it is G^-1 b.
    """
    free = self.solve(right_side)  # [F]
    direction = self.solve(means)  # [F]
    means = tf.cast(means, tf.float64)
    missing = total - tf.tensordot(means, free, 1)
    step = tf.math.divide_no_nan(missing, tf.tensordot(means, direction, 1))
    return free + step * direction


def gram_of(features: tf.Tensor) -> tf.Tensor:
  """Returns E[phi phi^T] [F, F] in float64 of features [n, F]."""
  size, num_features = features.shape
  gram = tf.zeros([num_features, num_features], tf.float64)
  for begin in range(0, size, _CHUNK):
    chunk = tf.cast(features[begin : begin + _CHUNK], tf.float64)
    gram += tf.matmul(chunk, chunk, transpose_a=True)
  return gram / size


def _factor(gram: tf.Tensor, ridge: float) -> tf.Tensor:
  """Returns the factor [F, F] of G with a ridge."""
  num_features = gram.shape[0]
  scale = tf.linalg.trace(gram) / num_features
  # ReLU features may be 0 for all data, and G singular without the ridge.
  gram += ridge * scale * tf.eye(num_features, dtype=tf.float64)
  factor = tf.linalg.cholesky(gram)  # [F, F]; NaN if singular.
  if np.isfinite(gram).all() and not np.isfinite(factor).all():
    raise errors.UserError(
        'ridge',
        ridge,
        f'the matrix of {num_features} features is singular; try a larger'
        ' one, such as 1e-6',
    )
  return factor


def mean_product(features: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Returns E[weight phi] [F] in float64 of features [n, F], weights [n]."""
  size, num_features = features.shape
  total = tf.zeros([num_features], tf.float64)
  for begin in range(0, size, _CHUNK):
    chunk = tf.cast(features[begin : begin + _CHUNK], tf.float64)
    part = tf.cast(weights[begin : begin + _CHUNK], tf.float64)
    total += tf.linalg.matvec(chunk, part, transpose_a=True)
  return total / size


def window_means(rows: tf.Tensor, size: int) -> tf.Tensor:
  """Returns for each row the mean of it and the next `size` - 1 rows, [n, F].

  The last windows go on with the first rows, so that all rows count equally.
  """
  # A few columns at a time, since sums in float64 take much memory.
  parts = [
      _window_means(rows[:, begin : begin + _COLUMNS], size)
      for begin in range(0, rows.shape[1], _COLUMNS)
  ]
  return tf.concat(parts, 1)


def _window_means(rows: tf.Tensor, size: int) -> tf.Tensor:
  count = rows.shape[0]
  index = tf.range(count + size) % count
  rows64 = tf.cast(tf.gather(rows, index), tf.float64)  # [n+size, F]
  sums = tf.cumsum(rows64, exclusive=True)  # of the rows before each
  return tf.cast((sums[size:] - sums[:count]) / size, rows.dtype)
