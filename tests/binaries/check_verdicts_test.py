"""Tests of the program that compares verdicts with the truth."""

import pathlib

from srdice_tf import results
from srdice_tf.experiments import result_file
from tests import warm_processes
from tests.reports import hand_made

_PROGRAM = pathlib.Path(__file__).parents[2] / 'binaries' / 'check_verdicts.py'


def _run(*flags):
  return warm_processes.run(str(_PROGRAM), *flags)


def test_a_table_of_runs_and_methods(tmp_path):
  evidence = results.EstimateEvidence(disagreement=0.01)
  found = results.MethodResult('srdice', 2.1, evidence=evidence)
  evaluation = results.Evaluation(
      {'srdice': found}, 0.99, 0, 'A', 'hard', truth=hand_made.TRUTH
  )
  (tmp_path / 'seed0').mkdir()
  result_file.write(str(tmp_path / 'seed0'), evaluation)
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 0, process.stderr
  assert '1 of 1' in process.stdout
  header, row = (tmp_path / 'verdict.csv').read_text().splitlines()
  cells = dict(zip(header.split(','), row.split(',')))
  assert (cells['env'], cells['method'], cells['grade']) == (
      'A', 'srdice', 'usable'
  )
  assert (cells['error'], cells['disagreement']) == ('0.05', '0.01')


def test_runs_without_verdicts_are_one_line(tmp_path):
  hand_made.write_run(tmp_path / 'seed0', 'A', 0, {'srdice': -3.0})
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 1
  assert process.stderr == (
      f'error: --runs={tmp_path}: no run there has a truth and a verdict.\n'
  )


def test_a_table_that_cannot_be_written_is_one_line(tmp_path):
  evidence = results.EstimateEvidence(disagreement=0.0, reward_deviation=1.0)
  found = results.Evaluation(
      {'srdice': results.MethodResult('srdice', 2.0, evidence=evidence)},
      0.99, 0, 'A', 'hard', truth=hand_made.TRUTH,
  )
  result_file.write(str(tmp_path), found)
  table = tmp_path / 'none' / 'verdict.csv'
  process = _run(f'--runs={tmp_path}', f'--table={table}')
  assert process.returncode == 1
  assert process.stderr.startswith(f'error: --table={table}: Cannot save file')
  assert len(process.stderr.splitlines()) == 1
