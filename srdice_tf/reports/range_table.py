"""How often ranges hold the truth, and how wide they are."""

from collections.abc import Iterable

import pandas as pd

from srdice_tf.reports import report_parts
from srdice_tf.reports import run_records
from srdice_tf.reports import tables

_LOW, _HIGH = 'range_low', 'range_high'  # As in the details of a method.
_ALL = 'all'
_COLUMNS = (
    'method', 'env', 'data sets', 'ranges hold', 'median width / |value|',
    '95% intervals hold', 'median |error|',
)


def frame(records: Iterable[run_records.RunRecord]) -> pd.DataFrame:
  """Returns a row for each run and method with a range and a known truth.

  Methods whose settings differ between runs tell these settings.
  """
  records, rows = list(records), []
  told = run_records.frame(run_records.Group(records=records))
  labels = {
      (row['directory'], row['method']): row['label']
      for row in told.to_dict('records')
  }
  for record in records:
    truth = record.evaluation.truth
    if truth is None:
      continue
    for result in record.evaluation.methods.values():
      if _LOW in result.details:
        label = labels[record.directory, result.method]
        rows.append(_row(record, result, truth.value, label))
  return pd.DataFrame(rows)


def _row(record, result, truth: float, label: str) -> dict:
  low, high = result.details[_LOW], result.details[_HIGH]
  interval = result.interval
  return {
      'env': record.evaluation.env_id,
      'run': record.directory,
      'method': label,
      'value': result.value,
      'truth': truth,
      'low': low,
      'high': high,
      'holds': low <= truth <= high,
      'width': (high - low) / abs(result.value),
      'interval_holds': interval and interval[0] <= truth <= interval[1],
      'error': (result.value - truth) / abs(truth),
  }


def text(rows: pd.DataFrame) -> str:
  """Returns the share that holds the truth and the width, by environment."""
  return tables.format_table(_COLUMNS, _lines(rows))


def of_runs(
    records: Iterable[run_records.RunRecord], name: str
) -> report_parts.ReportTable | None:
  """Returns the same for a report; None if no run has a range and a truth."""
  rows = frame(records)
  if not len(rows):
    return None
  return report_parts.ReportTable(
      name, _COLUMNS, _lines(rows),
      'Ranges of dr that hold the truth, beside 95% intervals by bootstrap,'
      ' which know no bias.',
      title='Ranges',
  )


def _lines(rows: pd.DataFrame) -> list[list[str]]:
  lines = []
  for method, found in rows.groupby('method', sort=False):
    groups = dict(iter(found.groupby('env', sort=False)))
    if len(groups) > 1:
      groups[_ALL] = found
    lines += [_line(method, env, part) for env, part in groups.items()]
  return lines


def _line(method: str, env: str, rows: pd.DataFrame) -> list[str]:
  known = rows['interval_holds'].dropna()
  return [
      method,
      env,
      str(len(rows)),
      f'{rows["holds"].mean():.0%}',
      f'{rows["width"].median():.0%}',
      f'{known.mean():.0%}' if len(known) else '-',
      f'{rows["error"].abs().median():.1%}',
  ]
