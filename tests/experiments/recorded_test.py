"""Holds the numbers of short runs of every method, to the last bit.

recorded.json was written by an earlier version of the package, with

    .venv/bin/python -m tests.experiments.recorded_test

A change of the code that is to compute the same leaves it alone. To the last
bit on the kind of machine that wrote it; others may round in another way.
"""

import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import pytest

from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from tests import warm_processes

_PATH = pathlib.Path(__file__).with_name('recorded.json')
_NEURAL = (
    'srdice', 'srdice_closed', 'deep_sr', 'deep_td', 'dual_dice',
    'gradient_dice',
)
_TASKS = {
    'Pendulum-v1': (*_NEURAL, 'linear_srdice'),
    'CartPole-v1': (*_NEURAL, 'linear_srdice'),
    'GridWalk': (
        *_NEURAL, 'linear_srdice', 'tabular_srdice', 'tabular_dual_dice',
    ),
    'PixelCorridor': _NEURAL,
}
_SHORT = {
    'encoder_steps': 30,
    'successor_steps': 40,
    'updates': 1_010,
    'batch_size': 16,
    'ratio_batch_size': 32,
    'num_features': 24,
    'hidden_units': 24,
    'start_pool': 256,
    'linear_num_features': 40,
    'bootstrap_draws': 20,
    'tabular_missing_mass': 1.0,
}
_SHORTER = {'encoder_steps': 8, 'successor_steps': 8, 'updates': 8}


def _numbers(env_id: str, directory: str) -> dict[str, dict[str, float]]:
  """Returns what each method found on a task."""
  is_frames = env_id == 'PixelCorridor'
  config = runs.RunConfig(
      tasks.TaskConfig(
          env_id,
          'pretrained' if env_id == 'Pendulum-v1' else 'untrained',
          num_transitions=400 if is_frames else 1_200,
          truth_episodes=2,
      ),
      _TASKS[env_id],
      hyperparameters.Hyperparameters(
          **_SHORT | (_SHORTER if is_frames else {})
      ),
      seed=3,
      data_root=f'{directory}/data',
  )
  found = {}
  evaluation = runs.run(config, f'{directory}/run')
  for name, result in evaluation.methods.items():
    low, high = result.interval or (None, None)
    ratios = result.diagnostics
    found[name] = {
        'estimate': result.value,
        'flow_residual': result.flow_residual,
        'low': low,
        'high': high,
        'mean_ratio': ratios and ratios.mean,
        'largest_ratio': ratios and ratios.largest,
    }
  return found


def _machine() -> str:
  """Returns what decides how sums are rounded: libraries choose by it."""
  fields = {}
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    name, _, value = line.partition(':')
    fields.setdefault(name.strip(), value.strip())
  names = 'vendor_id', 'cpu family', 'model', 'stepping'
  widths = {'avx512f', 'avx2', 'fma'} & {*fields.get('flags', '').split()}
  return ' '.join([*(fields.get(name, '') for name in names), *sorted(widths)])


@pytest.fixture(name='numbers', scope='module')
def _all_numbers():
  """Those of a process that has all of its threads, as the recorded one."""
  all_threads = {k: v for k, v in os.environ.items() if 'OP_THREADS' not in k}
  process = warm_processes.run(__file__, timeout=900.0, env=all_threads)
  assert process.returncode == 0, process.stderr
  return json.loads(process.stdout[process.stdout.index('{\n') :])['tasks']


@pytest.mark.parametrize('env_id', _TASKS)
def test_numbers_are_those_of_before(numbers, env_id):
  recorded = json.loads(_PATH.read_text())
  found = numbers[env_id]
  expected = recorded['tasks'][env_id]
  assert list(found) == list(expected)
  for method, numbers in expected.items():
    for name, number in numbers.items():
      where = f'{method} {name}: {found[method][name]}, was {number}'
      if recorded['machine'] == _machine() or number is None:
        assert found[method][name] == number, where
      else:
        np.testing.assert_allclose(
            found[method][name], number, rtol=0.01, atol=1e-3, err_msg=where
        )


if __name__ == '__main__':
  all_ = {}
  for env_id_ in _TASKS:
    with tempfile.TemporaryDirectory() as directory_:
      all_[env_id_] = _numbers(env_id_, directory_)
  content = {'machine': _machine(), 'tasks': all_}
  sys.stdout.write(json.dumps(content, indent=1))
