"""Tests of the program that makes a report."""

import pathlib

import pytest

from tests import warm_processes
from tests.reports import hand_made

_ROOT = pathlib.Path(__file__).parents[2]
_PROGRAM = str(_ROOT / 'binaries' / 'make_report.py')
_VARIABLES = {'PYTHONPATH': str(_ROOT), 'PATH': '/usr/bin:/bin'}


def _run(*flags):
  return warm_processes.run(_PROGRAM, *flags, env=_VARIABLES)


def test_a_page_from_runs(tmp_path):
  hand_made.write_experiment(tmp_path, 'hard', ['seed0', 'seed1'])
  hand_made.write_run(tmp_path / 'seed0', 'A', 0, {'srdice': -3.0})
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 0, process.stderr
  page = tmp_path / 'report' / 'report.html'
  assert process.stdout.splitlines() == [
      'missing       1 run of hard: seed1',
      'runs          1',
      f'report        {page}',
  ]
  assert page.exists() and process.stderr == ''
  again = _run(f'--runs={tmp_path}', f'--output_dir={tmp_path / "other"}')
  assert again.returncode == 0 and (tmp_path / 'other' / page.name).exists()
  nowhere = _run(f'--runs={tmp_path}', '--output_dir=/proc/none')
  assert nowhere.returncode == 1 and len(nowhere.stderr.splitlines()) == 1


def test_no_runs_are_one_line(tmp_path):
  process = _run(f'--runs={tmp_path}')
  assert process.returncode == 1
  assert process.stderr == (
      f'error: --runs={tmp_path}: no run is finished there, none has a'
      ' result.json; make one with python binaries/run_ope.py'
      ' --env=Pendulum-v1.\n'
  )


@pytest.mark.full
def test_a_page_of_what_is_kept(tmp_path):
  process = _run(f'--output_dir={tmp_path}')
  assert process.returncode == 0, process.stderr
  assert (tmp_path / 'report.html').exists()
  assert (tmp_path / 'hard_by_task.md').exists()
  assert process.stdout.splitlines()[-1].endswith('report.html')
