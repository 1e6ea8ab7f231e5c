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


def test_another_ridge_is_as_if_it_had_been_given():
  gram = least_squares.gram_of(tf.constant(_ROWS))
  right_side = _RNG.normal(size=3)
  one = least_squares.LeastSquares(gram, ridge=0.1).with_ridge(0.3)
  other = least_squares.LeastSquares(gram, ridge=0.3)
  np.testing.assert_array_equal(one.solve(right_side), other.solve(right_side))


def test_solution_with_a_given_product():
  """By hand: the conditions of Lagrange."""
  right_side, means = _RNG.normal(size=3), _RNG.normal(size=3)
  gram = _ROWS.T.astype(np.float64) @ _ROWS / 7
  gram += 1e-3 * np.trace(gram) / 3 * np.eye(3)
  squares = least_squares.LeastSquares(
      least_squares.gram_of(tf.constant(_ROWS)), ridge=1e-3
  )
  w = squares.solve_with(right_side, means, 0.7).numpy()
  system = np.block([[gram, -means[:, None]], [means[None], np.zeros((1, 1))]])
  expected = np.linalg.solve(system, np.append(right_side, 0.7))[:3]
  np.testing.assert_allclose(w, expected, rtol=1e-9)
  assert w @ means == pytest.approx(0.7)
  free = squares.solve_with(right_side, np.zeros(3), 0.7)
  np.testing.assert_array_equal(free, squares.solve(right_side))
