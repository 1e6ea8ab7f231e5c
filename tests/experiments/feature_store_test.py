"""Tests that runs share phi, psi and Q, and find the same without."""

import os

import numpy as np
import pytest

from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from srdice_tf.logging import metrics

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=500, truth_episodes=2,
    gamma=0.9, num_envs=5,
)
_VALUES = hyperparameters.Hyperparameters(
    encoder_steps=30, successor_steps=20, updates=10, hidden_units=8,
    num_features=8, batch_size=16, ratio_batch_size=16, start_pool=16,
    bootstrap_draws=0,
)


@pytest.fixture(name='path', scope='module')
def _path(tmp_path_factory):
  return tmp_path_factory.mktemp('features')


def _run(path, name, algo, share, **values):
  """Returns ratios, and the phases that were trained."""
  config = runs.RunConfig(
      _TASK, (algo,), _VALUES.replace(**values), 0, data_root=str(path / 'data')
  )
  root = str(path / 'shared') if share else ''
  found = runs.run(config, str(path / name), features_root=root)
  rows = metrics.read_metrics(str(path / name / 'metrics.csv'))
  return found[algo], {row.phase for row in rows}


def test_shared_features_are_those_of_each_run(path):
  _, phases = _run(path, 'phi', 'dual_dice', True, dice_inputs='phi')
  assert phases == {'encoder', 'dual_dice'}
  # Psi goes on where phi ended.
  psi, phases = _run(path, 'psi', 'dual_dice', True, dice_inputs='psi')
  assert phases == {'successor', 'dual_dice'}
  closed, phases = _run(path, 'closed', 'srdice_closed', True)
  assert phases == {'srdice_closed'}
  assert closed.phase_seconds['encoder'] == psi.phase_seconds['encoder'] > 0
  alone = _run(path, 'psi_alone', 'dual_dice', False, dice_inputs='psi')[0]
  np.testing.assert_array_equal(psi.ratios, alone.ratios)
  assert psi.curve == alone.curve
  alone, phases = _run(path, 'closed_alone', 'srdice_closed', False)
  assert phases == {'encoder', 'successor', 'srdice_closed'}
  np.testing.assert_array_equal(closed.ratios, alone.ratios)
  # Another seed, policy or schedule is another representation.
  kept = set(os.listdir(path / 'shared'))
  _, phases = _run(path, 'other', 'srdice_closed', True, encoder_steps=31)
  assert phases == {'encoder', 'successor', 'srdice_closed'}
  assert len(set(os.listdir(path / 'shared')) - kept) == 2


def test_damaged_features_are_trained_again(path):
  for file in (path / 'shared').glob('*/*/*/weights.data*'):
    file.write_bytes(file.read_bytes()[:-9])
  found, phases = _run(path, 'again', 'srdice_closed', True)
  assert phases == {'encoder', 'successor', 'srdice_closed'}
  closed = np.load(path / 'closed' / 'ratios.npz')['srdice_closed']
  np.testing.assert_array_equal(found.ratios, closed)


def test_features_of_parts_of_the_data_are_not_shared(path):
  """Each fold of dr has its own: they are no phi of all data."""
  kept = set(os.listdir(path / 'shared'))
  folds = {'dr_folds': 2, 'dr_ratio': 'srdice_closed', 'updates': 5}
  _, phases = _run(path, 'dr', 'dr', True, **folds)
  assert {'encoder_fold0', 'successor_fold1', 'deep_td_fold0'} <= phases
  assert set(os.listdir(path / 'shared')) == kept


def test_values_are_shared_where_no_curve_needs_them(path):
  td, phases = _run(path, 'td', 'deep_td', True)
  assert phases == {'deep_td'} and td.curve.steps == (10,)
  found, phases = _run(path, 'dr_of_td', 'dr', True, dr_ratio='srdice_closed')
  assert phases == {'srdice_closed', 'dr'}
  alone, _ = _run(path, 'dr_alone', 'dr', False, dr_ratio='srdice_closed')
  assert found.value == alone.value
  # Deep TD itself has a curve, which only training gives.
  again, phases = _run(path, 'td_again', 'deep_td', True)
  assert phases == {'deep_td'} and again.curve == td.curve


def test_more_steps_go_on_from_fewer(path):
  found, _ = _run(path, 'more', 'srdice_closed', True, successor_steps=33)
  alone, _ = _run(path, 'all', 'srdice_closed', False, successor_steps=33)
  np.testing.assert_array_equal(found.ratios, alone.ratios)
  # The means of its losses are those of the last steps only.
  assert _losses(path / 'more') != _losses(path / 'all')
  _, phases = _run(path, 'few', 'srdice_closed', True, successor_steps=10)
  assert phases == {'successor', 'srdice_closed'}


def _losses(run_dir):
  rows = metrics.read_metrics(str(run_dir / 'metrics.csv'))
  return [row.value for row in rows if row.phase == 'successor']
