"""Tests for the tables of studies and selections, by number."""

import csv
from typing import NamedTuple

import numpy as np
import pytest

from srdice_tf.estimators import selection as selection_lib
from srdice_tf.reports import selection
from srdice_tf.reports import study


class _Result(NamedTuple):
  method: str
  estimate: float
  interval: tuple | None
  truth: float = 2.0
  truth_error: float = 0.1
  log_error: float = -3.0
  seconds: float = 4.0
  flow_residual: float = 0.01
  relative_error: float = 0.25


class _Run(NamedTuple):
  env_id: str
  seed: int
  results: list
  rank_correlation: float


@pytest.fixture(name='runs')
def _runs():
  inside = _Result('linear_srdice', 1.5, (1.0, 2.5))
  outside = _Result('linear_srdice', 1.5, (1.0, 1.9), relative_error=0.75)
  other = _Result('deep_td', 1.0, None)
  return [_Run('A', 0, [inside, other], 0.5), _Run('A', 1, [outside], 0.7)]


def test_table_over_seeds(runs):
  _, _, deep_td, linear = study.table(runs).splitlines()
  cells = [cell.strip() for cell in linear.split('|')[1:-1]]
  assert cells[:5] == ['A', 'linear_srdice', '2', '0.5000', '0.2500']
  assert cells[8:] == ['1 of 2', '0.6000']
  assert [cell.strip() for cell in deep_td.split('|')[9:11]] == ['-', '-']


def test_file_has_a_line_for_each_run_and_method(runs, tmp_path):
  path = str(tmp_path / 'study.csv')
  study.write(path, runs)
  with open(path, newline='') as file:
    rows = list(csv.DictReader(file))
  assert [row['method'] for row in rows] == [
      'linear_srdice',
      'deep_td',
      'linear_srdice',
  ]
  assert rows[0]['low'] == '1.0' and rows[1]['low'] == ''
  assert 'A seed 1: linear_srdice 1.5000' in study.line(runs[1])


def test_selection_file_and_correlation(tmp_path):
  estimates = [2.1, 2.0, 4.0, 8.0]
  scores = [
      selection_lib.Score(
          selection_lib.Setting('random', 64, 1.0, 1e-3), 0.1 * (i + 1), value
      )
      for i, value in enumerate(estimates)
  ]
  selection.write(str(tmp_path), scores, truth=2.0)
  rows = selection.read(str(tmp_path))
  assert [row['estimate'] for row in rows] == estimates
  assert rows[2]['relative error'] == pytest.approx(1.0)
  # Ranks of the residuals 0 1 2 3, of the errors 1 0 2 3.
  expected = np.corrcoef([0, 1, 2, 3], [1, 0, 2, 3])[0, 1]
  assert selection.rank_correlation(str(tmp_path)) == pytest.approx(expected)
  assert 'the best of 4 settings' in selection.lines(str(tmp_path))
  assert selection.lines(str(tmp_path / 'none')) == ''
