"""Tests for the tables of studies and selections, by number."""

import csv
from typing import NamedTuple

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf.estimators import selection as selection_lib
from srdice_tf.evaluation import truth as truth_lib
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
  truth: truth_lib.PolicyValue = None


@pytest.fixture(name='runs')
def _runs():
  inside = _Result('linear_srdice', 1.5, (1.0, 2.5))
  outside = _Result('linear_srdice', 1.5, (1.0, 1.9), relative_error=0.75)
  other = _Result('deep_td', 1.0, None)
  return [_Run('A', 0, [inside, other], 0.5), _Run('A', 1, [outside], 0.7)]


def test_table_over_seeds(runs):
  _, _, deep_td, linear = study.table(runs).splitlines()
  cells = [cell.strip() for cell in linear.split('|')[1:-1]]
  assert cells[:5] == ['A', 'linear_srdice', '2', '0.5000', '0.3536']
  assert cells[7] == '-5.298'  # log(0.5 * 0.1^2).
  assert cells[9:] == ['1 of 2', '0.6000']
  cells = [cell.strip() for cell in deep_td.split('|')[1:-1]]
  assert cells[4] == '-' and cells[9:] == ['-', '-']  # One seed: no deviation.


def test_a_grid_without_a_correlation_does_not_hide_the_others(runs):
  runs = [runs[0], runs[1]._replace(rank_correlation=np.nan)]
  assert study.table(runs).splitlines()[-1].endswith('| 0.5000 |')


def test_the_truth_of_each_task_is_said_once(runs):
  value = truth_lib.PolicyValue(
      2.0, 0.02, 0, 0, 0, 1, 1000, 0.99, 917, wanted_error=0.01
  )
  lines = study.truth_lines([run._replace(truth=value) for run in runs])
  assert lines == (
      'A: truth 2.00000 +- 0.02000 (standard error), 1,000 roll-outs (the cap:'
      ' +- 0.01000 was not reached); allows a log error of about -8.5, less is'
      ' chance'
  )


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


def test_equal_residuals_share_their_rank(tmp_path):
  """Ranks 1, 2.5, 2.5, 4 and 1, 2, 4, 3, whatever the order of the equal."""
  residuals, estimates = [0.1, 0.2, 0.2, 0.3], [2.1, 2.2, 2.9, 2.4]
  scores = [
      selection_lib.Score(
          selection_lib.Setting('random', 64, 1.0, 1e-3), residual, value
      )
      for residual, value in zip(residuals, estimates)
  ]
  found = []
  for order in (scores, [scores[i] for i in (0, 2, 1, 3)]):
    selection.write(str(tmp_path), order, truth=2.0)
    found.append(selection.rank_correlation(str(tmp_path)))
  assert found == pytest.approx([0.632456, 0.632456], abs=1e-6)


@pytest.mark.filterwarnings('error')
def test_equal_residuals_only_have_no_correlation(tmp_path):
  scores = [
      selection_lib.Score(
          selection_lib.Setting('random', 64, 1.0, 1e-3), 0.1, value
      )
      for value in (1.0, 2.0, 4.0, float('nan'))
  ]
  selection.write(str(tmp_path), scores, truth=2.0)
  assert np.isnan(selection.rank_correlation(str(tmp_path)))


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


@pytest.mark.parametrize('size', ['nan', 'inf', '8.5'])
def test_a_damaged_number_of_features_is_one_line(tmp_path, size):
  setting = selection_lib.Setting('random', 64, 1.0, 1e-3)
  scores = [selection_lib.Score(setting, 0.1, 1.0)]
  selection.write(str(tmp_path), scores, truth=2.0)
  path = tmp_path / selection.FILE_NAME
  path.write_text(path.read_text().replace(',64,', f',{size},'))
  with pytest.raises(errors.UserError, match=f'selection.csv: F is {size},'):
    selection.lines(str(tmp_path))
