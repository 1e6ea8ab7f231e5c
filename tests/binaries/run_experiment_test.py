"""End-to-end tests of run_experiment."""

import os
import signal
import time

import pytest

from tests import warm_processes

_PROGRAM = 'binaries/run_experiment.py'


# The same program, whose workers need not import the libraries.
_WITH_WARM_WORKERS = f"""
import runpy, sys
from srdice_tf.experiments import executors
from tests.experiments import warm_workers
executors.subprocess = warm_workers.SUBPROCESS
sys.argv[0] = {_PROGRAM!r}
runpy.run_path({_PROGRAM!r}, run_name='__main__')
"""


def _start(tmp_path, program=(_PROGRAM,), **flags):
  flags = {
      'root': tmp_path / 'runs', 'data_root': tmp_path / 'data', **flags
  }
  return warm_processes.WarmProcess(*program, *warm_processes.flags(flags))


def _run(tmp_path, **flags):
  process = _start(tmp_path, **flags)
  output, errors = process.communicate(timeout=280)
  return process.returncode, output, errors


def test_an_experiment_stops_on_ctrl_c_and_goes_on(tmp_path):
  flags = {'experiment': 'coverage', 'scale': 'smoke', 'workers': 1}
  process = _start(tmp_path, **flags)
  logs = tmp_path / 'runs' / 'smoke' / 'coverage' / 'logs'
  end = time.monotonic() + 120
  while not (logs.exists() and os.listdir(logs)):
    assert time.monotonic() < end and process.poll() is None
    time.sleep(0.1)
  process.send_signal(signal.SIGINT)
  _, errors = process.communicate(timeout=60)
  assert process.returncode == 130
  assert 'interrupted: the same command resumes' in errors
  program = '-c', _WITH_WARM_WORKERS
  code, output, errors = _run(tmp_path, program=program, **flags)
  assert code == 0, errors
  assert 'coverage (smoke) 100% 3/3 runs' in errors
  assert 'running 0 failed 0' in errors
  assert 'Scale smoke' in output and '1 seed' in output
  assert 'results.csv' in output


def test_a_failed_run_is_told_and_the_exit_code_is_1(tmp_path):
  flags = {'experiment': 'coverage', 'scale': 'smoke', 'workers': 1}
  run_dir = tmp_path / 'runs/smoke/coverage/Pendulum-v1_hard_linear_srdice'
  (run_dir / 'seed0_part1').mkdir(parents=True)
  (run_dir / 'seed0_part1' / 'result.json').write_text('{}')
  program = '-c', _WITH_WARM_WORKERS
  code, output, errors = _run(tmp_path, program=program, **flags)
  assert code == 1
  assert '1 run failed; the same command tries again' in output
  said = ' '.join(output.split())
  assert 'seed0_part1: holds result.json of a run, but no config.json' in said
  assert 'of the intervals of linear_srdice' in output
  assert 'failed 1' in errors


@pytest.mark.parametrize(
    ('flags', 'code', 'words'),
    [
        ({'experiment': 'hrad'}, 1, '--experiment=hrad: there is no such'),
        ({'experiment': 'hard', 'scale': 'x'}, 1, '--scale=x: there are paper'),
        ({}, 2, 'flag --experiment must be given'),
        (
            {'experiment': 'hard', 'ray_address': 'a:1'},
            2,
            '--ray_address plays no part',
        ),
    ],
)
def test_bad_input_is_one_line(tmp_path, flags, code, words):
  found, output, errors = _run(tmp_path, **flags)
  assert found == code and not output
  assert words in errors and len(errors.splitlines()) == 1


def test_the_list_shows_every_experiment_with_its_cost():
  process = warm_processes.run(_PROGRAM, '--list', '--workers=2')
  assert (process.returncode, process.stderr) == (0, '')
  output = process.stdout
  heading, _, *lines = output.splitlines()
  assert 'on 2 cores' in heading
  assert len(lines) > 16 and any(line.startswith('hard ') for line in lines)
  assert 'If runs of hard that others share are done: random_rewards' in output
  assert max(map(len, output.splitlines())) <= 100
