"""Tests for the table of many evaluations, by number."""

import dataclasses
import re

import pytest

from srdice_tf import results
from srdice_tf.reports import study

_TRUTH = results.PolicyValue(2.0, 0.1, 0, 0, 0, 1, 100, 0.99, 917)


def _evaluation(seed, *found):
  return results.Evaluation(
      {result.method: result for result in found},
      0.99,
      seed,
      env_id='A',
      truth=_TRUTH,
  )


def _linear(value, interval, estimates):
  """Returns a result whose grid has these estimates, by rising residual."""
  trials = tuple(
      {'flow_residual': 0.1 * i, 'estimate': estimate}
      for i, estimate in enumerate(estimates)
  )
  return results.MethodResult(
      'linear_srdice', value, seconds=4.0, interval=interval, trials=trials
  )


@pytest.fixture(name='evaluations')
def _evaluations():
  return [
      _evaluation(
          0,
          _linear(1.5, (1.0, 2.5), [2.1, 2.0, 4.0, 8.0]),  # 0.8
          results.MethodResult('deep_td', 1.0, seconds=4.0),
      ),
      _evaluation(1, _linear(0.5, (1.0, 1.9), [2.0, 3.0, 4.0])),  # 1.0
  ]


def _cells(evaluations):
  """Returns the cells of the rows of each table."""
  found = study.table(evaluations)
  assert max(map(len, found.splitlines())) <= 100
  return [
      [re.split('  +', row) for row in part.splitlines()[2:]]
      for part in found.split('\n\n')
  ]


def test_table_over_seeds(evaluations):
  (deep_td, linear), (of_deep_td, of_linear) = _cells(evaluations)
  assert linear[:5] == ['A', 'linear_srdice', '2', '0.5000', '0.3536']
  assert linear[7] == '-5.298'  # log(0.5 * 0.1^2).
  assert of_linear[2:] == ['1 of 2', '0.9000', '4.000']
  assert deep_td[4] == '-'  # One seed: no deviation.
  assert of_deep_td[2:4] == ['-', '-']


def test_without_truth_there_are_the_estimates(evaluations):
  evaluations = [dataclasses.replace(e, truth=None) for e in evaluations]
  ((deep_td, linear),) = _cells(evaluations)
  assert deep_td == ['A', 'deep_td', '1', '1.000', '-', '-', '4.000']
  assert linear[:5] == ['A', 'linear_srdice', '2', '1.000', '0.7071']


def test_a_grid_without_a_correlation_does_not_hide_the_others(evaluations):
  evaluations = [evaluations[0], _evaluation(1, _linear(0.5, None, [1.0]))]
  assert _cells(evaluations)[1][-1][3] == '0.8000'


def test_a_line_for_each_run(evaluations):
  assert study.line(evaluations[1]) == (
      'A seed 1: linear_srdice 0.5000 (truth 2.0000, 4 s)'
  )
