"""Tests for the log error and its smoothing, against numbers by hand."""

import math

import numpy as np
import pytest

from srdice_tf.evaluation import log_error

_NAN = float('nan')
_INF = float('inf')


def test_log_error_by_hand():
  # 0.5 * 2^2 = 2 on either side of the truth; 0.5 * 0.1^2 = 0.005.
  assert log_error.log_error(5.0, 3.0) == pytest.approx(math.log(2.0))
  assert log_error.log_error(1.0, 3.0) == pytest.approx(math.log(2.0))
  assert log_error.log_error(3.1, 3.0) == pytest.approx(-5.298317, abs=1e-6)


def test_log_error_of_arrays():
  errors = log_error.log_error(np.float32([5.0, 4.0]), 3.0)
  np.testing.assert_allclose(errors, [math.log(2.0), math.log(0.5)])
  assert errors.dtype == np.float64


def test_log_error_of_the_truth_itself_is_finite():
  assert log_error.log_error(3.0, 3.0) == pytest.approx(-55.955189, abs=1e-6)


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_log_error_of_diverged_estimates():
  assert math.isnan(log_error.log_error(_NAN, 1.0))
  assert log_error.log_error(-_INF, 1.0) == _INF
  # 2 log(1e200) - log 2, though 1e400 is no float.
  expected = 400.0 * math.log(10.0) - math.log(2.0)
  assert log_error.log_error(1e200, 1.0) == pytest.approx(expected)


def test_what_the_truth_allows():
  # 0.5 * 0.1^2 = 0.005.
  assert log_error.allowed(0.1) == pytest.approx(-5.298317, abs=1e-6)
  assert log_error.allowed(0.0) is None  # An exact truth allows anything.
  assert log_error.allowed(_NAN) is None


def test_smoothing_by_hand():
  smoothed = log_error.smooth([4.0, 2.0, 6.0, 1.0], window=3)
  np.testing.assert_allclose(smoothed, [4.0, 3.0, 4.0, 3.0])


def test_smoothing_has_a_window_of_ten():
  smoothed = log_error.smooth(np.arange(1, 251))
  assert smoothed[8] == 5.0  # Mean of 1 to 9.
  assert smoothed[9] == 5.5  # Of 1 to 10.
  assert smoothed[11] == 7.5  # Of 3 to 12.


@pytest.mark.parametrize(
    'length, window',
    [(1, 1), (15, 1), (49, 1), (50, 2), (249, 9), (250, 10), (500, 10)],
)
def test_short_curves_have_a_window_as_large_a_share(length, window):
  values = np.arange(length)
  last = log_error.smooth(values)[-1]
  assert last == np.mean(values[-window:])


def test_smoothing_is_along_the_last_axis():
  smoothed = log_error.smooth([[0.0, 2.0, 4.0], [1.0, 1.0, 3.0]], window=2)
  np.testing.assert_allclose(smoothed, [[0.0, 1.0, 3.0], [1.0, 1.0, 2.0]])


def test_a_window_of_one_changes_nothing():
  np.testing.assert_array_equal(log_error.smooth([3.0, 1.0], 1), [3.0, 1.0])


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_nan_stays_where_a_window_holds_it():
  smoothed = log_error.smooth([1.0, _NAN, 3.0, 5.0, 7.0], window=2)
  np.testing.assert_array_equal(smoothed, [1.0, _NAN, _NAN, 4.0, 6.0])
  smoothed = log_error.smooth([_INF, -_INF, 3.0, 5.0], window=2)
  np.testing.assert_array_equal(smoothed, [_INF, _NAN, -_INF, 4.0])


def test_smoothing_of_nothing():
  assert log_error.smooth([]).shape == (0,)


def test_a_window_needs_a_value():
  with pytest.raises(ValueError, match='window=-1'):
    log_error.smooth([1.0], window=-1)
