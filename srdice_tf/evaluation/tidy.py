"""Results as one tidy table: a row for each run and method."""

from collections.abc import Iterable
from collections.abc import Mapping
import os

import numpy as np
import pandas as pd
from scipy import stats

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.evaluation import log_error

_RATIOS = (
    'mean', 'expected_mean', 'effective_share', 'negative_share', 'largest'
)
_LEAST = 1e-12  # A smaller truth counts as this, in relative errors.


def frame(evaluations: Iterable[results.Evaluation]) -> pd.DataFrame:
  """Returns the table; what nobody knows is missing (NaN)."""
  rows = [
      _row(evaluation, result)
      for evaluation in evaluations
      for result in evaluation.methods.values()
  ]
  return pd.DataFrame(rows)


def write(path: str, table: pd.DataFrame):
  """Writes a table as a CSV file that is there whole or not at all."""
  os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
  table.to_csv(f'{path}.tmp', index=False)
  os.replace(f'{path}.tmp', path)


def keep(path: str, tables: Mapping[str, pd.DataFrame]):
  """Writes tables of runs below each other, with a column of their names.

  Args:
    path: of the CSV file. Runs of other names that are in it stay.
    tables: of each run, by its name.

  Raises:
    UserError: if the file is none that this function wrote.
  """
  found = []
  for name, table in tables.items():
    found.append(table.copy())
    found[-1].insert(1, 'run', name)
  if os.path.exists(path):
    old = _read(path)
    found.insert(0, old[~old['run'].isin(tables)])
  write(path, pd.concat(found))


def _read(path: str) -> pd.DataFrame:
  """Returns a table with all of its digits.

  Raises:
    UserError: if it is none that `keep` wrote.
  """
  advice = 'restore it from the repository, or remove it'
  try:
    found = pd.read_csv(path, float_precision='round_trip')
  except (OSError, ValueError) as error:
    reason = ' '.join(str(error).split())
    raise errors.at(path, f'cannot be read ({reason})', advice) from error
  if 'run' not in found:
    raise errors.at(path, 'lacks the column run', advice)
  return found


def _row(evaluation: results.Evaluation, result: results.MethodResult) -> dict:
  low, high = result.interval or (None, None)
  return {
      'env': evaluation.env_id,
      'setting': evaluation.setting,
      'seed': evaluation.seed,
      'part': evaluation.part,
      'gamma': evaluation.gamma,
      'num_transitions': evaluation.num_transitions,
      'num_episodes': evaluation.num_episodes,
      'method': result.method,
      'value': result.value,
      'low': low,
      'high': high,
      'standard_error': result.standard_error,
      # Where a method says that the value may lie, and not only by variance.
      'range_low': result.details.get('range_low'),
      'range_high': result.details.get('range_high'),
      **_errors(evaluation.truth, result),
      'seconds': result.seconds,
      'diverged': result.diverged,
      'grade': _of(result.verdict, 'grade'),
      'flow_residual': result.flow_residual,
      'flow_scored_on': result.flow_scored_on,
      **{f'ratio_{name}': _of(result.diagnostics, name) for name in _RATIOS},
      'rank_correlation': rank_correlation(evaluation.truth, result),
  }


def _errors(truth: results.PolicyValue | None, result) -> dict:
  """Returns what needs the truth; nothing without one."""
  if truth is None:
    return {}
  return {
      'truth': truth.value,
      'truth_error': truth.standard_error,
      'truth_allows': log_error.allowed(truth.standard_error),
      'relative_error': relative_error(result.value, truth.value),
      'log_error': float(log_error.log_error(result.value, truth.value)),
      'smoothed_log_error': smoothed_log_error(truth.value, result),
  }


def relative_error(value: float, truth: float) -> float:
  return abs(value - truth) / max(abs(truth), _LEAST)


def log_errors(truth: float, result: results.MethodResult) -> np.ndarray:
  """Returns the log errors [T] along the curve of a method."""
  return log_error.log_error(np.asarray(result.curve.estimates), truth)


def smoothed_log_error(truth: float, result: results.MethodResult) -> float:
  """Returns the mean log error of the last 4% of the curve, or its last."""
  found = log_errors(truth, result)
  if not len(found):
    return float(log_error.log_error(result.value, truth))
  return float(log_error.smooth(found)[-1])


def trials(evaluation: results.Evaluation, method: str) -> pd.DataFrame:
  """Returns the settings that a method tried, the best first.

  The errors are there for people who know the truth; nothing was chosen by
  them.
  """
  found = pd.DataFrame(list(evaluation[method].trials))
  if evaluation.truth is not None:
    truth = evaluation.truth.value
    estimates = found['estimate'].to_numpy(np.float64)
    found['relative_error'] = [relative_error(x, truth) for x in estimates]
    found['log_error'] = log_error.log_error(estimates, truth)
  return found


def rank_correlation(
    truth: results.PolicyValue | None, result: results.MethodResult
) -> float | None:
  """Returns Spearman's, of flow residual and true error over the trials.

  None if fewer than three settings are finite, or one of the two is the same
  for all.
  """
  if truth is None:
    return None
  pairs = np.array([
      [trial['flow_residual'], relative_error(trial['estimate'], truth.value)]
      for trial in result.trials
  ])
  pairs = pairs[np.isfinite(pairs).all(axis=1)] if len(pairs) else pairs
  if len(pairs) < 3 or not np.ptp(pairs, axis=0).all():
    return None
  return float(stats.spearmanr(pairs).statistic)


def _of(found, name: str):
  return None if found is None else getattr(found, name)
