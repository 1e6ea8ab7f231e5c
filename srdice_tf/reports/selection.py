"""The settings that were tried, sorted by what could be known of them."""

from collections.abc import Sequence
import os

import numpy as np
from scipy import stats

from srdice_tf import csv_file
from srdice_tf import errors
from srdice_tf.evaluation import log_error
from srdice_tf.reports import tables

FILE_NAME = 'selection.csv'
_COLUMNS = (
    'features',
    'F',
    'scale',
    'lambda',
    'flow residual',
    'estimate',
    'relative error',
    'log error',
)
_NUM_SHOWN = 5


def write(run_dir: str, trials: Sequence[dict], truth: float) -> None:
  """Writes the grid into a run directory, the best first.

  The errors stand beside it for who has the truth; nothing was chosen by them.

  Args:
    run_dir: where selection.csv is to be.
    trials: sorted, as an estimator has them.
    truth: true value.
  """
  rows = [
      (
          trial['kind'],
          trial['num_features'],
          trial['scale'],
          trial['ridge'],
          trial['flow_residual'],
          trial['estimate'],
          abs(trial['estimate'] - truth) / max(abs(truth), 1e-12),
          log_error.log_error(trial['estimate'], truth),
      )
      for trial in trials
  ]
  csv_file.write(os.path.join(run_dir, FILE_NAME), _COLUMNS, rows)


def read(run_dir: str) -> list[dict]:
  """Returns the rows of a run's selection.csv; none if it has none."""
  path = os.path.join(run_dir, FILE_NAME)
  advice = f'remove {run_dir} to choose anew'
  rows = csv_file.read(path, _COLUMNS, advice, text_columns=('features',))
  for row in rows:
    if not row['F'].is_integer():
      raise errors.UserError(
          f'{path}: F is {row["F"]}, expected a number of features; {advice}.'
      )
  return rows


def rank_correlation(run_dir: str) -> float:
  """Returns Spearman's, of flow residual and true error over the grid.

  NaN if fewer than three settings are finite, or one of the two is the same for
  all.
  """
  names = 'flow residual', 'relative error'
  pairs = np.array([[row[name] for name in names] for row in read(run_dir)])
  pairs = pairs[np.isfinite(pairs).all(axis=1)] if len(pairs) else pairs
  if len(pairs) < 3 or not np.ptp(pairs, axis=0).all():
    return float('nan')
  return float(stats.spearmanr(pairs).statistic)


def lines(run_dir: str) -> str:
  """Returns the best settings as a table; '' if none were tried."""
  rows = read(run_dir)
  if not rows:
    return ''
  shown = [
      [row['features'], int(row['F']), *list(row.values())[2:]]
      for row in rows[:_NUM_SHOWN]
  ]
  return (
      f'linear_srdice: the best of {len(rows)} settings by flow residual; rank'
      f' correlation with the true error {rank_correlation(run_dir):.2f}; all'
      f' in {os.path.join(run_dir, FILE_NAME)}\n'
      + tables.format_table(_COLUMNS, shown)
  )
