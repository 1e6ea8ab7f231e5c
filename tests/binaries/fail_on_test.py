"""Tests of run_ope --fail_on, in this process."""

import importlib
import json
import sys

import pytest

from binaries import cli
from srdice_tf.logging import quiet
from srdice_tf.logging import signals


@pytest.fixture(name='run', scope='module')
def _run(tmp_path_factory):
  """Returns a function that runs run_ope and returns its exit code."""
  path = tmp_path_factory.mktemp('fail_on')
  flags = {
      'env': 'RandomMDP-5-2-2-0', 'policy': 'random', 'setting': 'main',
      'gamma': 0.9, 'num_transitions': 4000, 'truth_episodes': 2,
      'bootstrap_draws': 20, 'algo': 'linear_srdice',
      'output_dir': path / 'run', 'dataset_dir': path / 'data',
      'data_root': path / 'root',
  }
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(quiet, 'install', lambda: None)
    patch.setattr(signals, 'end_of_imports', lambda: None)
    patch.setattr(signals, 'is_ignored', lambda signal: True)
    patch.setattr(cli, '_leave', lambda code: None)
    run_ope = importlib.import_module('binaries.run_ope')

    def run(**more):
      arguments = [f'--{k}={v}' for k, v in {**flags, **more}.items()]
      patch.setattr(sys, 'argv', ['run_ope.py', *arguments])
      with pytest.raises(SystemExit) as end:
        cli.run(run_ope.main)
      return end.value.code or 0

    run.path = path
    yield run


@pytest.mark.parametrize(
    ('fail_on', 'code'), [('never', 0), ('do_not_use', 0), ('unsure', 4)]
)
def test_exit_codes_of_an_unsure_estimate(run, capsys, fail_on, code):
  """No other method stands beside it; the second run only reads the first."""
  assert run(fail_on=fail_on) == code
  shown = capsys.readouterr()
  assert 'Do the data support this policy? unsure' in shown.out
  assert 'linear_srdice: unsure: no method trained apart' in shown.out
  # All is written, whatever the code.
  assert 'all numbers' in shown.out and 'tensorboard' in shown.out
  (path,) = run.path.glob('run/*/seed0/result.json')
  assert json.loads(path.read_text())['grade'] == 'unsure'
  if code:
    assert shown.err.strip().splitlines()[-1].startswith(
        'error: the verdict is: unsure, and --fail_on=unsure was asked for;'
        ' all results are in '
    )


def test_usable_estimates_fail_nowhere(run, capsys):
  more = {'algo': 'linear_srdice,tabular_srdice', 'fail_on': 'unsure'}
  code, shown = run(**more), capsys.readouterr()
  assert 'Do the data support this policy? usable' in shown.out
  assert code == 0


def test_other_words_are_refused(run, capsys):
  assert run(fail_on='always') == 2
  assert 'never|unsure|do_not_use' in capsys.readouterr().err
