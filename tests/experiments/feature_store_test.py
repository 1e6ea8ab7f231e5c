"""Tests that runs share phi and psi, and find the same without."""

import os

import numpy as np
import pytest

from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from srdice_tf.logging import metrics

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=500, truth_episodes=2
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
  phi, phases = _run(
      path, 'phi_linear', 'dual_dice', True, dice_inputs='phi', dice_linear=True
  )
  assert phases == {'dual_dice'}
  alone = _run(path, 'psi_alone', 'dual_dice', False, dice_inputs='psi')[0]
  np.testing.assert_array_equal(psi.ratios, alone.ratios)
  assert psi.curve == alone.curve
  alone, phases = _run(path, 'closed_alone', 'srdice_closed', False)
  assert phases == {'encoder', 'successor', 'srdice_closed'}
  np.testing.assert_array_equal(closed.ratios, alone.ratios)
  alone = _run(
      path, 'alone', 'dual_dice', False, dice_inputs='phi', dice_linear=True
  )[0]
  np.testing.assert_array_equal(phi.ratios, alone.ratios)
  # Another seed, policy or schedule is another representation.
  kept = set(os.listdir(path / 'shared'))
  _, phases = _run(path, 'other', 'srdice_closed', True, encoder_steps=31)
  assert phases == {'encoder', 'successor', 'srdice_closed'}
  assert len(set(os.listdir(path / 'shared')) - kept) == 2


def test_damaged_features_are_trained_again(path):
  for file in (path / 'shared').glob('*/*/weights.data*'):
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
