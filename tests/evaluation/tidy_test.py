"""Tests for the tidy table, by hand."""

import numpy as np
import pandas as pd
import pytest

from srdice_tf import results
from srdice_tf.evaluation import tidy

_TRUTH = results.PolicyValue(2.0, 0.1, 0, 0, 0, 1, 100, 0.99, 917)


def _evaluation(truth=_TRUTH, **fields):
  result = results.MethodResult('srdice', 1.5, **fields)
  return results.Evaluation(
      {'srdice': result, 'deep_td': results.MethodResult('deep_td', 2.5)},
      0.99,
      3,
      env_id='A',
      truth=truth,
  )


def test_a_row_for_each_run_and_method():
  evaluation = _evaluation(
      interval=(1.0, 2.0),
      diagnostics=results.RatioDiagnostics(9, 1.1, 1.0, 4.5, 0.5, 0.0, 3.0, 0),
      curve=results.Curve((1, 2), (3.0, 1.0)),
      details={'range_low': 0.5, 'range_high': 2.5},
  )
  frame = tidy.frame([evaluation, evaluation])
  assert list(frame['method']) == ['srdice', 'deep_td'] * 2
  row = frame.iloc[0]
  assert (row['env'], row['seed'], row['low'], row['high']) == ('A', 3, 1, 2)
  assert (row['range_low'], row['range_high']) == (0.5, 2.5)
  assert row['relative_error'] == pytest.approx(0.25)
  assert row['log_error'] == pytest.approx(np.log(0.5 * 0.25))
  # Errors of 1 and -1 along the curve: log(0.5) twice.
  assert row['smoothed_log_error'] == pytest.approx(np.log(0.5))
  assert row['truth_allows'] == pytest.approx(np.log(0.5 * 0.01))
  assert row['ratio_mean'] == 1.1 and row['ratio_largest'] == 3.0
  assert frame.iloc[1][['low', 'range_low', 'ratio_mean']].isna().all()


def test_without_truth_there_is_no_error():
  frame = tidy.frame([_evaluation(truth=None)])
  assert not {'truth', 'log_error', 'relative_error'} & set(frame.columns)
  assert list(frame['value']) == [1.5, 2.5]


def test_the_file_is_the_table(tmp_path):
  path = str(tmp_path / 'new' / 'results.csv')
  tidy.write(path, tidy.frame([_evaluation()]))
  found = pd.read_csv(path)
  assert list(found['method']) == ['srdice', 'deep_td']
  assert found['value'][0] == 1.5


def test_runs_can_have_names(tmp_path):
  path = str(tmp_path / 'results.csv')
  table = tidy.frame([_evaluation()])
  tidy.keep(path, {'a': table, 'b': table})
  found = pd.read_csv(path)
  assert list(found['run']) == ['a', 'a', 'b', 'b']
  assert list(found['method']) == ['srdice', 'deep_td'] * 2
  tidy.keep(path, {'b': table})  # Others stay, as on a new machine.
  assert list(pd.read_csv(path)['run']) == ['a', 'a', 'b', 'b']


def _correlation(residuals, estimates):
  trials = tuple(
      {'flow_residual': residual, 'estimate': estimate}
      for residual, estimate in zip(residuals, estimates)
  )
  evaluation = _evaluation(trials=trials)
  return tidy.rank_correlation(evaluation.truth, evaluation['srdice'])


def test_rank_correlation():
  # Ranks of the residuals 0 1 2 3, of the errors 1 0 2 3.
  found = _correlation([0.1, 0.2, 0.3, 0.4], [2.1, 2.0, 4.0, 8.0])
  expected = np.corrcoef([0, 1, 2, 3], [1, 0, 2, 3])[0, 1]
  assert found == pytest.approx(expected)


def test_equal_residuals_share_their_rank():
  """Ranks 1, 2.5, 2.5, 4 and 1, 2, 4, 3, whatever the order of the equal."""
  found = [
      _correlation([0.1, 0.2, 0.2, 0.3], [2.1, 2.2, 2.9, 2.4]),
      _correlation([0.1, 0.2, 0.2, 0.3], [2.1, 2.9, 2.2, 2.4]),
  ]
  assert found == pytest.approx([0.632456, 0.632456], abs=1e-6)


@pytest.mark.filterwarnings('error')
def test_equal_residuals_only_have_no_correlation():
  assert _correlation([0.1] * 4, [1.0, 2.0, 4.0, np.nan]) is None


def test_trials_with_their_errors():
  trials = ({'features': 'random', 'estimate': 4.0, 'flow_residual': 0.1},)
  (row,) = tidy.trials(_evaluation(trials=trials), 'srdice').to_dict('records')
  assert row['relative_error'] == pytest.approx(1.0)
  assert row['log_error'] == pytest.approx(np.log(2.0))
  frame = tidy.trials(_evaluation(truth=None, trials=trials), 'srdice')
  assert list(frame.columns) == ['features', 'estimate', 'flow_residual']
