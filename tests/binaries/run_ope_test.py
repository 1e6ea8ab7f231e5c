"""End-to-end tests of run_ope, with tiny networks and schedules."""

import json
import os
import re
import time

import numpy as np
import pandas as pd
import pytest

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.data.sources import collected
from srdice_tf.logging import metrics
from tests import warm_processes

_PROGRAM = 'binaries/run_ope.py'
_FLAGS = {
    'env': 'Pendulum-v1',
    'policy': 'untrained',
    'gamma': 0.9,
    'algo': (
        'linear_srdice,srdice,srdice_closed,deep_sr,deep_td,dual_dice,'
        'gradient_dice'
    ),
    'select': 'flow',
    'linear_num_features': 32,
    'num_transitions': 1000,
    'truth_episodes': 5,
    # So that there are two points on the curve.
    'encoder_steps': 1010,
    'successor_steps': 1010,
    'updates': 1010,
    'num_features': 16,
    'hidden_units': 16,
    'batch_size': 32,
    'ratio_batch_size': 64,
    'start_pool': 64,
}


_RATIO_METHODS = (
    'linear_srdice', 'srdice', 'srdice_closed', 'dual_dice', 'gradient_dice'
)


def _run(**flags):
  return warm_processes.run(
      _PROGRAM, *warm_processes.flags({**_FLAGS, **flags})
  )


def _directories(path, data=None):
  return {
      'output_dir': path / 'run',
      'dataset_dir': (data or path) / 'data',
      'data_root': (data or path) / 'root',
  }


def _run_dir(path):
  """Returns the directory of the one run."""
  (found,) = (path / 'run').glob('*/seed0')
  return found


def _results(path):
  content = json.loads((_run_dir(path) / 'result.json').read_text())
  return {method['method']: method for method in content['methods']}


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
  path = tmp_path_factory.mktemp('whole')
  result = _run(**_directories(path))
  assert result.returncode == 0, result.stderr
  return path, result


def test_run_directory_and_table(whole):
  path, result = whole
  found = set(os.listdir(_run_dir(path)))
  assert found >= {
      'config.json',
      'metrics.csv',
      'result.json',
      'ratios.npz',
      'checkpoint',
      'events',
  }
  for method in _FLAGS['algo'].split(','):
    assert re.search(rf'^{method} ', result.stdout, re.MULTILINE)
  assert 'theorem 4' in result.stdout
  assert 'curve.png' in result.stdout
  beside = set(os.listdir(_run_dir(path).parent))
  assert beside == {'seed0', 'curve.png', 'results.csv'}
  table = (_run_dir(path).parent / 'results.csv').read_text().splitlines()
  assert len(table) == 1 + len(_FLAGS['algo'].split(','))
  lines = [x for x in result.stdout.splitlines() if str(path) not in x]
  assert max(map(len, lines)) <= 100
  with np.load(_run_dir(path) / 'ratios.npz') as ratios:
    assert sorted(ratios) == sorted(_RATIO_METHODS)
    assert all(ratios[name].shape == (1000,) for name in ratios)


def test_flow_residuals_and_intervals(whole):
  path, result = whole
  for text in ('flow', 'scored on', 'low 95%', 'cross-fit', 'fitted'):
    assert text in result.stdout
  rows = metrics.read_metrics(str(_run_dir(path) / 'metrics.csv'))
  for name, method in _results(path).items():
    flows = [
        row.value
        for row in rows
        if row.name == 'flow_residual' and row.method == name
    ]
    if name not in _RATIO_METHODS:
      assert method['interval'] is None and not flows
      continue
    low, high = method['interval']
    assert low < method['value'] < high
    assert flows[-1] == pytest.approx(method['flow_residual'], rel=1e-4)


def test_selection_is_sorted_and_shown(whole):
  path, result = whole
  frame = pd.read_csv(_run_dir(path) / 'linear_srdice_trials.csv')
  residuals = list(frame['flow_residual'])
  assert len(residuals) == 48 and residuals == sorted(residuals)
  assert 'the best of 48 settings by flow residual' in result.stdout


def test_held_out_episodes(whole, tmp_path):
  path, _ = whole
  result = _run(
      algo='linear_srdice,dual_dice,dr',
      dr_ratio='dual_dice',
      updates=20,
      select='none',
      holdout_fraction=0.4,
      **_directories(tmp_path, path),
  )
  assert result.returncode == 0, result.stderr
  assert result.stdout.count('held-out') == 3
  with np.load(_run_dir(tmp_path) / 'ratios.npz') as ratios:
    assert ratios['linear_srdice'].shape == (1000,)
    np.testing.assert_allclose(ratios['dr'], ratios['dual_dice'], rtol=1e-6)


def test_estimate_is_ratios_times_rewards(whole):
  """The file of ratios is aligned with the data set."""
  path, _ = whole
  codec = collection.codec_of(environments.load('Pendulum-v1'))
  data = collected.load(str(path / 'data'), codec)
  with np.load(_run_dir(path) / 'ratios.npz') as ratios:
    found = np.mean(ratios['dual_dice'] * data.rewards.numpy())
  expected = _results(path)['dual_dice']['value']
  assert found == pytest.approx(expected, rel=1e-4)


def test_killed_in_several_phases_ends_the_same(whole, tmp_path):
  path, _ = whole
  # Each method finds what it finds beside all others.
  names = 'srdice', 'gradient_dice'
  flags = {**_directories(tmp_path, path), 'algo': ','.join(names)}
  first = _run_dir(path)
  second = tmp_path / 'run' / 'Pendulum-v1_hard_srdice_gradient_dice' / 'seed0'
  rows = second / 'metrics.csv'
  for phase in ('encoder', 'srdice', 'gradient_dice'):
    process = warm_processes.WarmProcess(
        _PROGRAM, *warm_processes.flags({**_FLAGS, **flags})
    )
    deadline = time.time() + 200
    while not (rows.exists() and f',{phase},' in rows.read_text()):
      assert process.poll() is None and time.time() < deadline, phase
      time.sleep(0.02)
    process.kill()
    process.communicate()
  result = _run(**flags)
  assert result.returncode == 0, result.stderr
  # The same rows, each once, to the last bit.
  expected = metrics.read_metrics(str(first / 'metrics.csv'))
  expected = [row for row in expected if row.method in names]
  assert {row.phase for row in expected} == {'encoder', 'successor', *names}
  assert metrics.read_metrics(str(rows)) == expected
  with (
      np.load(first / 'ratios.npz') as expected,
      np.load(second / 'ratios.npz') as found,
  ):
    for name in names:
      np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize(
    'flags, parts',
    [
        ({'algo': 'srdise'}, ['--algo=srdise', 'srdice']),
        ({'gamma': 0}, ['gamma']),
        ({'num_seeds': 0}, ['num_seeds']),
        ({'num_seeds': 10**9}, ['num_seeds', '[1, 10000]']),
        ({'holdout_fraction': 1.5}, ['holdout_fraction']),
        ({'num_seeds': 3}, ['--num_seeds=3: each run', '--dataset_dir=']),
        ({'epsilon': 0.3}, ['--epsilon=0.3: this environment', 'continuous']),
    ],
    ids=[
        'algo', 'gamma', 'num_seeds', 'many_seeds', 'holdout', 'one_dataset',
        'epsilon',
    ],
)
def test_bad_input_is_one_line(flags, parts, tmp_path):
  result = _run(**{**_directories(tmp_path), **flags})
  _expect_error(result, parts)
  assert not (tmp_path / 'run').exists()


def test_flags_that_differ_from_the_data_are_refused(whole, tmp_path):
  path, _ = whole
  _expect_error(
      _run(**_directories(tmp_path, path), seed=9),
      [f'--seed=9: the data of --dataset_dir={path / "data"} have 0'],
  )
  assert not (tmp_path / 'run').exists()


def test_other_configuration_names_the_field(whole):
  path, _ = whole
  before = (_run_dir(path) / 'config.json').read_bytes()
  result = _run(**_directories(path), learning_rate=0.5)
  _expect_error(result, ['learning_rate=', '0.0003', '0.5'])
  assert (_run_dir(path) / 'config.json').read_bytes() == before


def _expect_error(result, parts):
  assert result.returncode not in (0, None)
  lines = result.stderr.splitlines()
  lines = [line for line in lines if line.startswith('error: ')]
  assert len(lines) == 1, result.stderr
  for part in parts:
    assert part in lines[0]


def test_divergence_is_written_and_an_exit_code(tmp_path):
  run = _run(
      algo='linear_srdice,dual_dice',
      dual_dice_learning_rate=1e30,
      select='none',
      updates=20,
      num_transitions=400,
      truth_episodes=2,
      **_directories(tmp_path),
  )
  assert run.returncode == 3, run.stderr
  line = run.stderr.strip().splitlines()[-1]
  assert line.startswith('error: no finite result of dual_dice; ')
  assert 'diverged' in run.stdout
  assert 'tensorboard' in run.stdout
  assert (_run_dir(tmp_path).parent / 'curve.png').exists()
  found = _results(tmp_path)
  assert np.isfinite(found['linear_srdice']['value'])
  assert np.isnan(found['dual_dice']['value'])
  assert found['dual_dice']['diverged']


def test_without_truth_there_is_no_roll_out(whole, tmp_path):
  path, _ = whole
  result = _run(
      algo='linear_srdice',
      select='none',
      truth='none',
      **_directories(tmp_path, path),
  )
  assert result.returncode == 0, result.stderr
  assert 'roll out' not in result.stderr
  assert 'truth         not known' in result.stdout
  assert 'log error' not in result.stdout
  assert (_run_dir(tmp_path).parent / 'curve.png').exists()
