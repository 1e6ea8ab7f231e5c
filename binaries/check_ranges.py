"""Counts how often ranges hold the truth, on runs that have both.

  python binaries/check_ranges.py --runs=runs/experiments/desk/ranges

A range is what dr says beside its estimate; see srdice_tf/estimators/README.md.
"""

from srdice_tf import console

console.start(__file__)

from absl import flags

from binaries import checked_table
from binaries import cli
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
  checked_table.show(
      _RUNS.value, _TABLE.value, range_table, 'ranges.csv', 'range'
  )


if __name__ == '__main__':
  cli.run(main)
