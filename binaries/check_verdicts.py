"""Compares verdicts with the truth, on runs that have both.

  python binaries/check_verdicts.py --runs=runs/experiments/desk/verdict

The runs are those of run_experiment.py --experiment=verdict, or any others.
"""

from srdice_tf import console

console.start(__file__)

from absl import flags

from binaries import checked_table
from binaries import cli
from srdice_tf.reports import verdict_table

_RUNS = flags.DEFINE_string(
    'runs', None, 'Directory of the runs, at any height above them.',
    required=True,
)
_TABLE = flags.DEFINE_string(
    'table', None,
    'CSV file with a row for each run and method; default: verdict.csv, below'
    ' --runs.',
)


def main(_) -> None:
  checked_table.show(
      _RUNS.value, _TABLE.value, verdict_table, 'verdict.csv', 'verdict'
  )


if __name__ == '__main__':
  cli.run(main)
