"""Counts how often ranges hold the truth, on runs that have both.

  python binaries/check_ranges.py --runs=runs/experiments/desk/ranges

A range is what dr says beside its estimate; see srdice_tf/estimators/README.md.
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags

from binaries import cli
from srdice_tf import errors
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import range_table

_RUNS = flags.DEFINE_string(
    'runs', None, 'Directory of the runs, at any height above them.',
    required=True,
)
_TABLE = flags.DEFINE_string(
    'table', None,
    'CSV file with a row for each run and method; default: ranges.csv, below'
    ' --runs.',
)


def main(_) -> None:
  groups = finished_runs.read(_RUNS.value)
  rows = range_table.frame(r for group in groups for r in group.records)
  if rows.empty:
    raise errors.UserError(
        'runs', _RUNS.value, 'no run there has a truth and a range'
    )
  print(range_table.text(rows))
  path = _TABLE.value or os.path.join(_RUNS.value, 'ranges.csv')
  try:
    rows.to_csv(path, index=False, float_format='%.6g')
  except OSError as error:
    reason = error.strerror or str(error)
    raise errors.UserError('table', path, reason) from error
  print(f'all numbers   {path}')


if __name__ == '__main__':
  cli.run(main)
