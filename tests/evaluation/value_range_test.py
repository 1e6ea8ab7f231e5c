"""Tests for ranges of doubly robust values, by hand."""

import numpy as np
import pytest

from srdice_tf.evaluation import value_range

_RATIOS = np.array([[1.0, 2.0], [0.5, 0.0]])  # [n, J]
_DIFFERENCES = np.array([[1.0, -1.0, 0.0], [2.0, 4.0, 0.0]])  # [n, K]
_START = np.array([0.1, 0.2, 0.3])  # [K]
_REWARDS = np.array([3.0, 5.0])  # [n]


def test_sums_of_all_pairs():
  found = value_range.all_sums(_RATIOS, _DIFFERENCES, _START, _REWARDS)
  expected = [
      [0.1 + (1.0 + 1.0) / 2, 0.1 + 2.0 / 2, 0.1],
      [0.2 + (-1.0 + 2.0) / 2, 0.2 - 2.0 / 2, 0.2],
      [0.3, 0.3, 0.3],
      [(3.0 + 2.5) / 2, 6.0 / 2, np.nan],
  ]
  np.testing.assert_allclose(found, expected)


def test_range_holds_the_farthest_of_the_others():
  sums = np.array([[1.0, 1.3], [0.9, np.nan]])
  found = value_range.around(1.0, 0.4, sums)
  assert found.disagreement == pytest.approx(0.3)
  half = 0.5  # A right triangle of 3, 4 and 5.
  assert (found.low, found.high) == pytest.approx((1.0 - half, 1.0 + half))
  assert found.high > 1.3


def test_range_without_a_bootstrap():
  found = value_range.around(1.0, 0.0, np.array([[1.0, 1.2]]))
  assert found.low == pytest.approx(0.8)
