"""Tests of the program that compares ranges with the truth."""

import pathlib

from srdice_tf import results
from srdice_tf.experiments import result_file
from tests import warm_processes
from tests.reports import hand_made

_PROGRAM = pathlib.Path(__file__).parents[2] / 'binaries' / 'check_ranges.py'


def _run(*flags):
  return warm_processes.run(str(_PROGRAM), *flags)


def _write(directory, **details):
  found = results.MethodResult('dr', 2.1, details=details)
  evaluation = results.Evaluation(
      {'dr': found}, 0.99, 0, 'A', 'hard', truth=hand_made.TRUTH
  )
  directory.mkdir()
  result_file.write(str(directory), evaluation)


def test_a_table_of_ranges(tmp_path):
  _write(tmp_path / 'seed0', range_low=1.9, range_high=2.3)
  _write(tmp_path / 'seed1', range_low=2.05, range_high=2.15)
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 0, process.stderr
  assert '50%' in process.stdout
  rows = (tmp_path / 'ranges.csv').read_text().splitlines()
  assert len(rows) == 3 and 'holds' in rows[0]


def test_runs_without_ranges_are_one_line(tmp_path):
  _write(tmp_path / 'seed0')
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 1
  assert process.stderr == (
      f'error: --runs={tmp_path}: no run there has a truth and a range.\n'
  )
