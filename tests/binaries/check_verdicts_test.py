"""Tests of the program that compares verdicts with the truth."""

from srdice_tf import results
from srdice_tf.experiments import result_file
from tests import warm_processes
from tests.reports import hand_made


def _run(path, table):
  return warm_processes.run(
      'binaries/check_verdicts.py', f'--runs={path}', f'--table={table}'
  )


def test_a_table_that_cannot_be_written_is_one_line(tmp_path):
  evidence = results.EstimateEvidence(disagreement=0.0, reward_deviation=1.0)
  found = results.Evaluation(
      {'srdice': results.MethodResult('srdice', 2.0, evidence=evidence)},
      0.99, 0, 'A', 'hard', truth=hand_made.TRUTH,
  )
  result_file.write(str(tmp_path), found)
  table = tmp_path / 'none' / 'verdict.csv'
  process = _run(tmp_path, table)
  assert process.returncode == 1
  assert process.stderr.startswith(f'error: --table={table}: Cannot save file')
  assert len(process.stderr.splitlines()) == 1
  assert _run(tmp_path, tmp_path / 'verdict.csv').returncode == 0
