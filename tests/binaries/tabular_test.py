"""End-to-end tests of the binaries on finite MDPs."""

import json
import os

import pytest

from tests import warm_processes

_TINY = {
    'encoder_steps': 50,
    'successor_steps': 50,
    'updates': 50,
    'num_features': 16,
    'hidden_units': 16,
    'truth_episodes': 2,
}


def _run(binary, **flags):
  return warm_processes.run(
      f'binaries/{binary}.py', *warm_processes.flags(flags)
  )


def test_grid_walk_from_collection_to_table(tmp_path):
  result = _run(
      'run_ope',
      env='GridWalk',
      algo='tabular_srdice,tabular_dual_dice,srdice',
      num_transitions=20_000,
      tabular_missing_mass=0.1,
      output_dir=tmp_path / 'run',
      dataset_dir=tmp_path / 'data',
      data_root=tmp_path / 'root',
      **_TINY,
  )
  assert result.returncode == 0, result.stderr
  assert 'theorem 2: equal' in result.stdout
  (path,) = tmp_path.glob('run/*/seed0/result.json')
  found = json.loads(path.read_text())
  # Exact, in the units of the exact solution; the policy is near optimal.
  assert found['truth']['standard_error'] == 0.0
  truth = found['truth']['value']
  assert truth == pytest.approx(0.9390805, abs=1e-6)
  by_name = {method['method']: method for method in found['methods']}
  for name in ('tabular_srdice', 'tabular_dual_dice'):
    assert by_name[name]['value'] == pytest.approx(truth, abs=0.05)
  assert 'srdice' in by_name
  # The data set says by which setting it was gathered.
  dataset = json.loads((tmp_path / 'data/dataset.json').read_text())
  assert dataset['setting'] == 'alpha0'


def test_pairs_that_the_data_lack(tmp_path):
  result = _run(
      'run_ope',
      env='RandomMDP-30-4-3-1',
      algo='tabular_srdice',
      num_transitions=100,
      output_dir=tmp_path / 'run',
      dataset_dir=tmp_path / 'data',
      data_root=tmp_path / 'root',
      **_TINY,
  )
  assert result.returncode == 1
  (line,) = result.stderr.strip().splitlines()[-1:]
  assert line.startswith('error: --algo=tabular_srdice: the data lack ')
  assert 'of the mass of d_pi' in line


def test_a_study_ends_without_truth(tmp_path):
  result = _run(
      'run_study',
      envs='FiveStateChain',
      setting='alpha0',
      num_seeds=2,
      num_transitions=400,
      bootstrap_draws=20,
      truth='none',
      output_dir=tmp_path / 'study',
      data_root=tmp_path / 'root',
  )
  assert result.returncode == 0, result.stderr
  assert 'FiveStateChain seed 1: linear_srdice' in result.stdout
  assert 'truth         not known' in result.stdout
  (path,) = tmp_path.glob('study/results.csv')
  assert len(path.read_text().splitlines()) == 3


def test_coverage_counts_intervals(tmp_path):
  result = _run(
      'run_coverage',
      env='FiveStateChain',
      num_datasets=2,
      num_transitions=400,
      bootstrap_draws=20,
      truth_episodes=2,
      output_dir=tmp_path / 'coverage',
      data_root=tmp_path / 'root',
  )
  assert result.returncode == 0, result.stderr
  assert 'num_datasets              2' in result.stdout
  result = _run('run_coverage', env='FiveStateChain', truth='none')
  assert result.returncode == 2  # Without truth there is nothing to count.


def test_chain_writes_its_figure(tmp_path):
  result = _run(
      'run_chain',
      num_trials=2,
      num_steps=20,
      interval=10,
      output_dir=tmp_path / 'run',
  )
  assert result.returncode == 0, result.stderr
  assert {'chain.csv', 'chain.png', 'config.json', 'events'} <= set(
      os.listdir(tmp_path / 'run')
  )
  assert 'gradient_dice' in result.stdout and 'chain.png' in result.stdout


def test_chain_with_wrong_settings(tmp_path):
  result = _run('run_chain', num_steps=150, output_dir=tmp_path / 'run')
  assert result.returncode == 1
  assert result.stderr.strip() == (
      'error: --num_steps=150: expected a multiple of --interval=100.'
  )
  assert not os.path.exists(tmp_path / 'run')
