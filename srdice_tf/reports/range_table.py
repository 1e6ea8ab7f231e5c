"""How often ranges hold the truth, and how wide they are."""

from collections.abc import Iterable

import pandas as pd

from srdice_tf.reports import run_records
from srdice_tf.reports import tables

_LOW, _HIGH = 'range_low', 'range_high'  # As in the details of a method.
_ALL = 'all'


def frame(records: Iterable[run_records.RunRecord]) -> pd.DataFrame:
  """Returns a row for each run and method with a range and a known truth."""
  rows = []
  for record in records:
    truth = record.evaluation.truth
    if truth is None:
      continue
    for result in record.evaluation.methods.values():
      if _LOW in result.details:
        rows.append(_row(record, result, truth.value))
  return pd.DataFrame(rows)


def _row(record: run_records.RunRecord, result, truth: float) -> dict:
  low, high = result.details[_LOW], result.details[_HIGH]
  interval = result.interval
  return {
      'env': record.evaluation.env_id,
      'run': record.directory,
      'method': result.method,
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
  lines = []
  for method, found in rows.groupby('method', sort=False):
    groups = dict(iter(found.groupby('env', sort=False)))
    if len(groups) > 1:
      groups[_ALL] = found
    lines += [_line(method, env, part) for env, part in groups.items()]
  columns = (
      'method', 'env', 'data sets', 'ranges hold', 'median width / |value|',
      '95% intervals hold', 'median |error|',
  )
  return tables.format_table(columns, lines)


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
