"""Tests for the coverage of intervals, by hand."""

import pytest

from srdice_tf import results
from srdice_tf.evaluation import coverage


def _evaluations(truth, rows):
  """Returns evaluations with values, intervals and standard errors."""
  value = results.PolicyValue(truth, 0.1, 0, 0, 0, 1, 1, 0.9, 1)
  return [
      results.Evaluation(
          {
              'x': results.MethodResult(
                  'x', estimate, interval=interval, standard_error=error
              )
          },
          0.9,
          0,
          truth=value,
      )
      for estimate, interval, error in rows
  ]


def test_summary_by_hand():
  rows = [
      (1.0, (0.0, 2.0), 0.5), (3.0, (2.5, 3.5), 0.2), (5.0, (1.0, 9.0), 1.1)
  ]
  found = coverage.of_method(_evaluations(2.0, rows), 'x')
  assert found.share == pytest.approx(2 / 3)
  assert found.median_width == 2.0
  assert found.bias == pytest.approx(1.0)
  assert found.spread == pytest.approx(2.0)
  assert found.mean_error == pytest.approx(0.6)
  assert found.centred_share == pytest.approx(2 / 3)


def test_a_data_set_without_an_interval_does_not_miss_the_truth():
  rows = [(1.0, (0.0, 2.0), 0.5), (2.0, None, None)]
  found = coverage.of_method(_evaluations(1.0, rows), 'x')
  assert (found.num_datasets, found.share, found.mean_error) == (1, 1.0, 0.5)
