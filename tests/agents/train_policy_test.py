"""Tests of the training program, as a user runs it."""

import csv
import pathlib
import time

from tests import warm_processes

_ROOT = pathlib.Path(__file__).parents[2]
_PROGRAM = str(_ROOT / 'binaries' / 'train_policy.py')


def _flags(directory, **flags):
  flags = {
      'env': 'CartPole-v1', 'agent': 'ddqn', 'num_steps': 2_000,
      'eval_every': 250, 'eval_episodes': 2, 'output_dir': directory, **flags,
  }
  return warm_processes.flags(flags)


def _start(directory, **flags):
  return warm_processes.WarmProcess(_PROGRAM, *_flags(directory, **flags))


def _finish(process):
  output, errors = process.communicate(timeout=300)
  return process.returncode, output, errors


def _curve(directory):
  with open(directory / 'evaluations.csv') as file:
    return [
        (float(row['step']), float(row['mean_return']))
        for row in csv.DictReader(file)
    ]


def test_a_killed_run_resumes_to_the_same_curve(tmp_path):
  whole, killed = tmp_path / 'whole', tmp_path / 'killed'
  process = _start(killed)
  deadline = time.time() + 200
  while not list(killed.glob('checkpoint-*[0-9]')):
    assert time.time() < deadline and process.poll() is None
    time.sleep(0.05)
  process.kill()
  process.communicate()
  assert len(_curve(killed)) < 9
  code, output, errors = _finish(_start(killed))
  assert code == 0, errors
  assert f'policy        {killed}/policy (SavedModel' in output
  assert (killed / 'curve.png').exists()
  code, _, errors = _finish(_start(whole))
  assert code == 0, errors
  assert _curve(whole) == _curve(killed)
  assert (killed / 'policy' / 'saved_model.pb').exists()
  assert list((killed / 'events').glob('events.*'))
  # Progress, and nothing of what the libraries have to say.
  noise = [line for line in errors.splitlines() if '2,000 steps' not in line]
  assert noise == []


def test_mistakes_are_one_line(tmp_path):
  (tmp_path / 'file').touch()
  for directory, flags, message in (
      (tmp_path, {'env': 'CartPol-v1'}, '--env=CartPol-v1: no such env'),
      (tmp_path / 'file' / 'x', {}, f'--output_dir={tmp_path}/file/x'),
  ):
    code, _, errors = _finish(_start(directory, **flags))
    assert code == 1
    assert errors.startswith(f'error: {message}')
    assert len(errors.splitlines()) == 1
