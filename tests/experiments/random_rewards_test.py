"""Tests for random rewards: by hand, and on a run whose ratios are exact."""

import contextlib
import dataclasses
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.data import streamed
from srdice_tf.estimators import hyperparameters
from srdice_tf.evaluation import trajectories
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import reward_functions
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from tests.data import cut_segments

_ENV, _NUM_TRANSITIONS = 'RandomMDP-12-2-3-0', 4_000
_SMALL = {'num_rewards': 12, 'reward_units': 32, 'num_trajectories': 40}


class _Data:
  """Three transitions; a state is its number."""

  num_transitions = 3
  actions = tf.constant([0, 0, 0])

  def states(self, index):
    return index


def _study(monkeypatch, table, truth, ratios):
  """Returns the study of rewards that stand in a table, [reward, state]."""
  table = np.array(table)
  monkeypatch.setattr(
      reward_functions.RewardFunctions,
      '__call__',
      lambda self, number, states: table[number][states.numpy()],
  )

  class Inputs:
    size = 1

    def __call__(self, states, actions):
      del actions
      return states

  ratios = {name: np.array(each) for name, each in ratios.items()}
  return random_rewards._study(
      random_rewards.RandomRewardsConfig(num_rewards=len(table)),
      results.Evaluation({}, 0.9, seed=5, env_id='E-v0', setting='hard'),
      Inputs(),
      _Data(),
      {**ratios, 'behaviour': np.ones(3)},
      (np.array(truth), np.full(len(truth), 0.01)),
  )


def test_estimates_and_errors_by_hand(monkeypatch):
  study = _study(
      monkeypatch,
      # Only the second and third have a truth from 0.1 to 0.9.
      [[0.0, 0.1, 0.0], [0.2, 0.4, 0.6], [0.9, 0.3, 0.3], [1.0, 1.0, 0.9]],
      truth=[0.09, 0.3, 0.9, 0.91],
      ratios={'srdice': [2.0, 1.0, 0.0]},
  )
  assert (study.env_id, study.setting, study.seed) == ('E-v0', 'hard', 5)
  np.testing.assert_array_equal(study.numbers, [1, 2])
  np.testing.assert_allclose(study.truths, [0.3, 0.9])
  np.testing.assert_allclose(study.truth_errors, 0.01)
  np.testing.assert_allclose(study.data_means, [0.4, 0.5])
  # (2 * 0.2 + 0.4) / 3 and (2 * 0.9 + 0.3) / 3.
  np.testing.assert_allclose(study.estimates['srdice'], [0.8 / 3, 0.7])
  np.testing.assert_allclose(study.estimates['behaviour'], [0.4, 0.5])
  # In units of the data's mean reward.
  np.testing.assert_allclose(
      study.log_mses['srdice'],
      [
          np.log(0.5 * ((0.8 / 3 - 0.3) / 0.4) ** 2),
          np.log(0.5 * ((0.7 - 0.9) / 0.5) ** 2),
      ],
  )
  np.testing.assert_allclose(
      study.log_mses['behaviour'],
      [np.log(0.5 * 0.25**2), np.log(0.5 * 0.8**2)],
  )


def test_rewards_that_the_data_never_see_are_left_out(monkeypatch):
  study = _study(
      monkeypatch, [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [0.5, 0.5], {}
  )
  np.testing.assert_array_equal(study.numbers, [1])
  assert len(study.log_mses['behaviour']) == 1


def test_a_method_that_diverged_has_no_error(monkeypatch):
  ratios = {'dual_dice': [np.nan, 1.0, 1.0]}
  study = _study(monkeypatch, [[0.5, 0.5, 0.5]], [0.5], ratios)
  assert np.isnan(study.log_mses['dual_dice']).all()
  assert np.isfinite(study.log_mses['behaviour']).all()


def test_no_reward_that_says_anything_is_one_line(monkeypatch):
  with pytest.raises(errors.UserError, match='^num_rewards=1: none .*0.1 to'):
    _study(monkeypatch, [[0.5, 0.5, 0.5]], [0.95], {})


def _run(path, name, seed):
  """Evaluates a policy of a random MDP from data of another one, exactly."""
  config = runs.RunConfig(
      tasks.TaskConfig(
          _ENV,
          'untrained',
          num_transitions=_NUM_TRANSITIONS,
          gamma=0.9,
          truth_episodes=2,
      ),
      ('tabular_srdice', 'deep_td'),
      hyperparameters.Hyperparameters(
          bootstrap_draws=0, tabular_missing_mass=1.0, updates=2,
          batch_size=8, hidden_units=8, start_pool=8,
      ),
      seed=seed,
      data_root=str(path / 'data'),
  )
  runs.run(config, str(path / name))
  return str(path / name)


@pytest.fixture(name='path', scope='module')
def _path(tmp_path_factory):
  path = tmp_path_factory.mktemp('rewards')
  _run(path, 'run', seed=0)
  return path


def _config(path, name='run', **fields):
  return random_rewards.RandomRewardsConfig(
      run_dir=str(path / name), **_SMALL | fields
  )


@pytest.fixture(name='study', scope='module')
def _found(path):
  return random_rewards.run(_config(path), str(path / 'study'))


def test_right_ratios_are_right_for_all_rewards(path, study):
  assert list(study.log_mses) == ['tabular_srdice', 'behaviour']
  assert 1 <= len(study.numbers) <= 12
  assert (study.truths >= 0.1).all() and (study.truths <= 0.9).all()
  # The behaviour policy is another one: its rewards are other ones.
  errors_ = {
      name: np.abs(each - study.truths)
      for name, each in study.estimates.items()
  }
  assert errors_['tabular_srdice'].mean() < 0.5 * errors_['behaviour'].mean()
  assert np.all(errors_['tabular_srdice'] < 4.0 * study.truth_errors)
  assert np.any(errors_['behaviour'] > 4.0 * study.truth_errors)
  ratios = np.load(path / 'run' / 'ratios.npz')['tabular_srdice']
  assert len(ratios) == _NUM_TRANSITIONS


def test_the_table_is_tidy_and_read_again(path, study, monkeypatch):
  table = pd.read_csv(path / 'study' / 'random_rewards.csv')
  assert list(table.columns) == [
      'env', 'setting', 'seed', 'method', 'reward', 'truth', 'truth_error',
      'data_mean', 'estimate', 'log_mse',
  ]
  assert len(table) == 2 * len(study.numbers)
  assert set(table['env']) == {_ENV} and set(table['seed']) == {0}
  monkeypatch.setattr(random_rewards, '_study', None)
  again = random_rewards.run(_config(path), str(path / 'study'))
  for field in dataclasses.fields(study):
    mine, theirs = getattr(study, field.name), getattr(again, field.name)
    if isinstance(mine, dict):
      assert list(mine) == list(theirs)
      mine, theirs = list(mine.values()), list(theirs.values())
    np.testing.assert_array_equal(mine, theirs, field.name)


def test_true_values_serve_the_runs_of_all_seeds(path, study, monkeypatch):
  _run(path, 'other', seed=1)
  monkeypatch.setattr(trajectories, 'sample', None)
  other = random_rewards.run(_config(path, 'other'), str(path / 'second'))
  common = np.intersect1d(study.numbers, other.numbers)
  for each in (study, other):
    np.testing.assert_array_equal(
        each.truths[np.isin(each.numbers, common)],
        study.truths[np.isin(study.numbers, common)],
    )
  assert np.any(study.data_means[:1] != other.data_means[:1])


def test_other_rewards_are_another_study(path, study):
  with pytest.raises(errors.UserError, match='reward_seed=0, asked for is 1'):
    random_rewards.run(_config(path, reward_seed=1), str(path / 'study'))
  # Where the run is kept is no part of it.
  shutil.copytree(path / 'run', path / 'moved')
  moved = random_rewards.run(_config(path, 'moved'), str(path / 'study'))
  np.testing.assert_array_equal(moved.truths, study.truths)


def _copy(path, tmp_path):
  shutil.copytree(path / 'run', tmp_path / 'run')
  return tmp_path / 'run'


def _edit(run, change):
  path = run / 'config.json'
  content = json.loads(path.read_text())
  change(content)
  path.write_text(json.dumps(content))


def _of_task(run, **fields):
  _edit(run, lambda content: content['task'].update(fields))


@pytest.mark.parametrize(
    'damage, message',
    [
        (lambda r: (r / 'result.json').unlink(), 'run: holds no result.json'),
        (lambda r: (r / 'ratios.npz').unlink(), 'ratios.npz: missing'),
        (lambda r: (r / 'ratios.npz').write_text('x'), 'ratios.npz: cannot be'),
        (lambda r: np.savez(r / 'ratios.npz', a=[1, 2]), 'of 2 transitions'),
        (lambda r: np.savez(r / 'ratios.npz'), 'of no transitions'),
        (
            lambda r: _of_task(r, colour='red'),
            'config.json: is of another version',
        ),
        (
            lambda r: _of_task(r, env_id='PixelCorridor'),
            'its states are frames; random rewards are of vectors',
        ),
        (
            lambda r: _of_task(r, policy_checksum='a'),
            'policy_checksum=a, which is now',
        ),
        (
            lambda r: _edit(r, lambda c: c.update(dataset_dir='gone')),
            '^dataset_dir=gone: not there; expected the data set of',
        ),
        (
            lambda r: _edit(r, lambda c: c.update(dataset_checksum='a')),
            '^dataset_dir=.*expected the data set of',
        ),
    ],
)
@pytest.mark.usefixtures('study')
def test_a_run_that_cannot_be_used_is_one_line(
    path, tmp_path, damage, message
):
  damage(_copy(path, tmp_path))
  with pytest.raises(errors.UserError, match=message):
    random_rewards.run(_config(tmp_path), str(tmp_path / 'study'))
  assert not (tmp_path / 'study').exists()


def test_streamed_data_are_read_in_one_pass(path, study, tmp_path, monkeypatch):
  def in_blocks(task, data_path, address, seed, timeout, scratch):
    del address, timeout
    source = cut_segments.CutSegments(task.dataset(data_path, seed))
    found.append(streamed.StreamedDataset(source, scratch))
    return contextlib.nullcontext(found[-1])

  found = []
  monkeypatch.setattr(tasks.Task, 'streamed', in_blocks)
  monkeypatch.setattr(random_rewards, '_NUM_BLOCKS', 3)
  run = _copy(path, tmp_path)
  _edit(run, lambda content: content.update(stream=True))
  with pytest.raises(errors.UserError, match='expected the data set of'):
    random_rewards.run(_config(tmp_path), str(tmp_path / 'study'))
  checksum = found[-1].checksum()
  _edit(run, lambda content: content.update(dataset_checksum=checksum))
  again = random_rewards.run(_config(tmp_path), str(tmp_path / 'study'))
  np.testing.assert_array_equal(again.numbers, study.numbers)
  for name, estimates in study.estimates.items():
    np.testing.assert_allclose(again.estimates[name], estimates, rtol=1e-6)


@pytest.mark.usefixtures('study')
def test_damaged_files_are_one_line(path, tmp_path):
  shutil.copytree(path / 'study', tmp_path / 'study')
  table = tmp_path / 'study' / 'random_rewards.csv'
  lines = table.read_text().splitlines(keepends=True)
  for kept in (lines[:2], lines[:-1]):
    table.write_text(''.join(kept))
    with pytest.raises(errors.UserError, match='random_rewards.csv: was cut'):
      random_rewards.run(_config(path), str(tmp_path / 'study'))
  shutil.copytree(path / 'data', tmp_path / 'data')
  run = _copy(path, tmp_path)
  _edit(run, lambda c: c.update(data_root=str(tmp_path / 'data')))
  (kept,) = (tmp_path / 'data').glob('truth/*/random_rewards_*.npz')
  kept.write_bytes(kept.read_bytes()[:100])
  with pytest.raises(errors.UserError, match='npz: cannot be read.*remove it'):
    random_rewards.run(_config(tmp_path), str(tmp_path / 'new'))
