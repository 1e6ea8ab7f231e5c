"""The tables of a report."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from srdice_tf.reports import aggregates
from srdice_tf.reports import figures
from srdice_tf.reports import report_curves
from srdice_tf.reports import report_parts
from srdice_tf.reports import tables


def of_tasks(
    frame: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportTable:
  """Returns means and deviations over seeds, for each task and method."""
  has_truth = aggregates.ERROR in frame
  columns = ['task', 'method', 'runs', 'estimate', 'std']
  if has_truth:
    columns += ['truth', 'error %', 'log error', 'std ', 'truth allows']
    columns += ['intervals that hold it']
  columns += ['flow residual', 'seconds', 'diverged']
  rows = []
  for task, same in frame.groupby('task', sort=False):
    for label, found in same.groupby('label', sort=False):
      rows.append([
          task, looks[label].label, *_numbers(found, has_truth),
      ])
    if has_truth and same['behaviour_log_error'].notna().any():
      rows.append(_behaviour(task, same, columns))
  columns, rows = _without_empty(columns, rows)
  return report_parts.ReportTable(
      name, columns, rows,
      'Means and standard deviations (n − 1) over runs. Log errors are the'
      ' mean of the last 4% of each curve; “truth allows” is the log'
      ' error that the standard error of the truth alone would give.',
      title='Errors by task and method',
  )


def by_task(
    frame: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportTable | None:
  """Returns the relative errors with a column for each task.

  None if there is but one task, or no truth.
  """
  if aggregates.ERROR not in frame or frame['task'].nunique() < 2:
    return None
  cells = frame.groupby(['label', 'task'])
  counts = cells['run'].nunique()
  runs = ' to '.join(map(str, sorted({counts.min(), counts.max()})))
  return report_parts.ReportTable(
      name, ['mean error in %', *dict.fromkeys(frame['task'])],
      _wide(100.0 * cells['relative_error'].agg(_mean), frame, looks),
      'How far an estimate is from the truth, in % of it: mean over the data'
      f' sets, of which each number has {runs}.',
      title='Relative errors',
      decimals=1,
  )


def of_methods(
    frame: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportTable | None:
  """Returns errors and times with a row for each method, over all tasks.

  None if there is but one task, or no truth.
  """
  if aggregates.ERROR not in frame or frame['task'].nunique() < 2:
    return None
  columns = [
      'method', 'runs', 'median error %', 'mean log error',
      'intervals that hold the truth', 'ranges that do', 'median seconds',
  ]
  rows = [
      [
          looks[label].label,
          len(found),
          100.0 * float(found['relative_error'].median()),
          _mean(found[aggregates.ERROR]),
          _held(found, 'low', 'high'),
          _held(found, 'range_low', 'range_high'),
          float(found['seconds'].median()),
      ]
      for label, found in frame.groupby('label', sort=False)
  ]
  columns, rows = _without_empty(columns, rows)
  return report_parts.ReportTable(
      name, columns, rows,
      'All tasks and data sets together; a range is no interval of 95%.',
      title='Errors by method',
      decimals=1,
  )


def rewards_by_task(
    rewards: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportTable | None:
  """Returns the errors over random rewards with a column for each task.

  Args:
    rewards: with 'env', 'seed', 'reward', 'method' and 'log_mse'.
    looks: of the methods.
    name: of the table's files.
  """
  frame = pd.DataFrame({
      'task': rewards['env'], 'label': rewards['method'],
      'log_mse': rewards['log_mse'],
  })
  if frame['task'].nunique() < 2:
    return None
  means = frame.groupby(['label', 'task'])['log_mse'].agg(_mean)
  return report_parts.ReportTable(
      name, ['mean log MSE', *dict.fromkeys(frame['task'])],
      _wide(means, frame, looks),
      'Errors over random rewards, in units of the mean reward of the data.',
      title='Errors over random rewards',
      decimals=1,
  )


def _wide(means: pd.Series, frame: pd.DataFrame, looks) -> list[list]:
  """Returns a row for each label, with the mean of each task or None."""
  tasks = dict.fromkeys(frame['task'])
  return [
      [looks[label].label, *(means.get((label, task)) for task in tasks)]
      for label in dict.fromkeys(frame['label'])
  ]


def _without_empty(columns: list[str], rows: list[list]) -> tuple[list, list]:
  """Returns the table without the columns in which nothing stands."""
  told = [any(x is not None for x in column) for column in zip(*rows)]
  keep = lambda row: [x for x, is_told in zip(row, told) if is_told]
  return keep(columns), [keep(row) for row in rows]


def _numbers(found: pd.DataFrame, has_truth: bool) -> list:
  numbers = [
      len(found), _mean(found['value']), tables.deviation(found['value'])
  ]
  if has_truth:
    errors = found[aggregates.ERROR]
    numbers += [
        _mean(found['truth']),
        100.0 * _mean(found['relative_error']),
        _mean(errors),
        tables.deviation(errors),
        _known(found['truth_allows']),
        _held(found, 'low', 'high'),
    ]
  return numbers + [
      _known(found['flow_residual']),
      _mean(found['seconds']),
      int(found['diverged'].sum()),
  ]


def _held(found: pd.DataFrame, low: str, high: str) -> str | None:
  """Returns how many intervals or ranges hold the truth; None without any.

  Args:
    found: the runs.
    low: the column of the lower ends.
    high: the column of the upper ends.
  """
  if low not in found:
    return None
  told = found.dropna(subset=[low, high])
  held = (told[low] <= told['truth']) & (told['truth'] <= told[high])
  return f'{held.sum()} of {len(told)}' if len(told) else None


def _behaviour(task: str, same: pd.DataFrame, columns: list[str]) -> list:
  runs = same.drop_duplicates('seed')
  cells = dict.fromkeys(columns) | {
      'task': task,
      'method': report_curves.BEHAVIOUR.label,
      'runs': len(runs),
      'truth': _mean(runs['truth']),
      'log error': _known(runs['behaviour_log_error']),
      'std ': tables.deviation(runs['behaviour_log_error'].dropna()),
  }
  return list(cells.values())


def _mean(values) -> float:
  return float(np.mean(np.asarray(values, np.float64)))


def _known(values) -> float | None:
  values = pd.to_numeric(values, errors='coerce').dropna()
  return float(values.mean()) if len(values) else None
