"""Many evaluations as tables: one line for each task and method."""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import pandas as pd

from srdice_tf import results
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import tidy
from srdice_tf.reports import tables


def table(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns means and standard deviations over seeds, in two tables.

  Without truth, in one, of the estimates.
  """
  frame = tidy.frame(evaluations)
  parts = (_errors, _intervals) if 'truth' in frame else (_estimates,)
  groups = list(frame.groupby(['env', 'method']))
  return '\n\n'.join(_table(part, groups) for part in parts)


def _table(part: Callable[[pd.DataFrame], dict], groups) -> str:
  rows = [
      {'task': env_id, 'method': method, **part(group)}
      for (env_id, method), group in groups
  ]
  columns = list(rows[0])
  return tables.format_table(columns, [list(row.values()) for row in rows])


def _errors(group: pd.DataFrame) -> dict:
  return {
      'seeds': len(group),
      'rel. error': float(np.mean(group['relative_error'])),
      'std': tables.deviation(group['relative_error']),
      'log error': float(np.mean(group['log_error'])),
      'std of log': tables.deviation(group['log_error']),
      'truth allows': log_error.allowed(float(group['truth_error'].mean())),
  }


def _intervals(group: pd.DataFrame) -> dict:
  told = group.dropna(subset=['low', 'high'])
  held = (told['low'] <= told['truth']) & (told['truth'] <= told['high'])
  correlations = group['rank_correlation'].dropna()
  return {
      'intervals that hold the truth': (
          f'{held.sum()} of {len(told)}' if len(told) else '-'
      ),
      'rank correlation': (
          float(correlations.mean()) if len(correlations) else None
      ),
      'seconds': float(group['seconds'].mean()),
  }


def _estimates(group: pd.DataFrame) -> dict:
  return {
      'seeds': len(group),
      'estimate': float(np.mean(group['value'])),
      'std': tables.deviation(group['value']),
      'flow residual': _mean(group['flow_residual']),
      'seconds': float(group['seconds'].mean()),
  }


def _mean(column: pd.Series) -> float | None:
  """Returns the mean; None if it is missing in a row."""
  return None if column.isna().any() else float(column.mean())


def line(evaluation: results.Evaluation) -> str:
  """Returns one line on a run that is done."""
  truth = evaluation.truth
  against = '' if truth is None else f'truth {truth.value:.4f}, '
  parts = [
      f'{name} {result.value:.4f} ({against}{result.seconds:.0f} s)'
      for name, result in evaluation.methods.items()
  ]
  return f'{evaluation.env_id} seed {evaluation.seed}: {", ".join(parts)}'
