"""Closed forms over frozen features, against plain numpy."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf.estimators import least_squares

_RNG = np.random.default_rng(0)
_ROWS = _RNG.normal(size=(7, 3)).astype(np.float32)


@pytest.mark.parametrize('size', [1, 3, 7, 10])
def test_window_means_are_means_of_consecutive_rows(size):
  means = least_squares.window_means(tf.constant(_ROWS), size).numpy()
  for begin, mean in enumerate(means):
    window = _ROWS[(begin + np.arange(size)) % len(_ROWS)]
    np.testing.assert_allclose(mean, window.mean(0), atol=1e-6)
  np.testing.assert_allclose(means.mean(0), _ROWS.mean(0), atol=1e-6)


def test_mean_product_is_a_weighted_mean():
  weights = _RNG.normal(size=7).astype(np.float32)
  mean = least_squares.mean_product(tf.constant(_ROWS), tf.constant(weights))
  np.testing.assert_allclose(mean, weights @ _ROWS / 7, atol=1e-6)


def test_least_squares_solves_with_the_ridge():
  gram = _ROWS.T.astype(np.float64) @ _ROWS / 7
  gram += 0.1 * np.trace(gram) / 3 * np.eye(3)
  right_side = _RNG.normal(size=3)
  squares = least_squares.LeastSquares(
      least_squares.gram_of(tf.constant(_ROWS)), ridge=0.1
  )
  solution = squares.solve(right_side)
  np.testing.assert_allclose(solution, np.linalg.solve(gram, right_side))
