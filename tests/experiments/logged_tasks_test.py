"""Tests for evaluations from logged data, without a simulator."""

import dataclasses
import functools
import importlib
import json
import sys

import numpy as np
import pandas as pd
import pytest

import srdice_tf
from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.evaluation import returns
from srdice_tf.experiments import grids
from srdice_tf.experiments import logged_tasks
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.reports import comparison
from tests import walk

_VALUES = dict(linear_num_features=16, bootstrap_draws=20)
_MODULE = """
import numpy as np

def act(states):
  return np.clip(0.5 * states[:, :1], -1.0, 1.0).astype(np.float32)
"""


def _arrays(seed=0):
  episodes = walk.dataset(seed).to_episodes()
  lengths = [len(each.rewards) for each in episodes]
  is_last = np.concatenate([np.arange(n) == n - 1 for n in lengths])
  join = lambda parts: np.concatenate(list(parts))
  ended = np.repeat([each.is_terminal for each in episodes], lengths)
  return {
      'observations': join(each.observations[:-1] for each in episodes),
      'next_observations': join(each.observations[1:] for each in episodes),
      'actions': join(each.actions for each in episodes),
      'rewards': join(each.rewards for each in episodes),
      'terminals': is_last & ended,
      'timeouts': is_last & ~ended,
  }


@pytest.fixture
def place(tmp_path, monkeypatch):
  """A directory with data, and a policy as a module."""
  np.savez(tmp_path / 'logs.npz', **_arrays())
  (tmp_path / 'walk_policy.py').write_text(_MODULE)
  monkeypatch.syspath_prepend(tmp_path)
  monkeypatch.delitem(sys.modules, 'walk_policy', raising=False)
  return tmp_path


def _config(place, **fields):
  task = logged_tasks.LoggedTaskConfig(**{
      'data': str(place / 'logs.npz'),
      'policy': 'walk_policy:act',
      'gamma': walk.GAMMA,
      'truth': 'none',
      **fields,
  })
  values = hyperparameters.Hyperparameters(**_VALUES)
  return runs.RunConfig(
      task, ('linear_srdice',), values, data_root=str(place / 'data')
  )


def _run(place, **fields):
  (entry,) = sweep.plan([_config(place, **fields)], str(place / 'runs'))
  (found,) = sweep.run([entry], str(place / 'results.csv'))
  return found


def test_value_without_a_simulator(place):
  found = _run(place)
  assert found.truth is None and found.behaviour is None
  assert np.isfinite(found['linear_srdice'].value)
  assert found.data == str(place / 'logs.npz')
  assert found.num_transitions == walk.dataset(0).num_transitions
  assert 'log error' not in comparison.text([found])
  assert 'not known' in comparison.truth_lines([found])
  again = _run(place)
  assert again == found  # Read from result.json.
  (path,) = place.glob('runs/*/seed0/result.json')
  assert path.parent.parent.name == 'logs_walk_policy_act_linear_srdice'
  assert json.loads(path.read_text())['data'] == found.data


def test_runs_are_named_by_data_and_policy():
  name = lambda data: logged_tasks.LoggedTaskConfig(
      data, 'module:act', truth='none'
  ).name
  assert name('/there/hopper.v2.npz') == 'hopper.v2_module_act'
  assert name('rlds/robot/1.0.0/') == 'robot_1.0.0_module_act'
  assert name('reverb:host:80/table') == 'table_module_act'


def test_other_data_in_the_same_file_are_refused(place):
  _run(place)
  np.savez(place / 'logs.npz', **_arrays(seed=1))
  with pytest.raises(errors.UserError, match='dataset_checksum'):
    _run(place)


def test_other_policies_in_the_same_file_are_refused(place):
  _run(place)
  sys.modules.pop('walk_policy')
  (place / 'walk_policy.py').write_text(_MODULE.replace('0.5', '0.25'))
  with pytest.raises(errors.UserError, match='policy_checksum'):
    _run(place)


def test_a_number_as_truth(place):
  found = _run(place, truth='0.5')
  assert found.truth.value == 0.5 and found.truth.is_given
  assert found['linear_srdice'].diagnostics.expected_mean is None
  assert 'log error' in comparison.text([found])
  assert '0.50000 (as given)' in comparison.truth_lines([found])


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'truth': 'rollouts'}, 'truth=rollouts.*env'),
        ({'truth': 'nan'}, 'truth=nan.*number per step'),
        ({'truth': 'much'}, 'truth=much.*rollouts, none'),
        ({'policy': ''}, 'policy='),
        ({'policy': 'pretrained'}, 'policy=pretrained.*none is named'),
        ({'data': 'nowhere.npz'}, 'data=nowhere.npz.*no such file'),
        ({'accept': 'nonsense'}, 'accept=nonsense'),
        ({'gamma': 1.0}, 'gamma=1.0'),
    ],
)
def test_bad_settings(place, fields, message):
  with pytest.raises(errors.UserError, match=message):
    _run(place, **fields)


def test_data_have_one_place_and_one_seed(place):
  config = _config(place)
  with pytest.raises(errors.UserError, match='dataset_dir=x: not beside data'):
    dataclasses.replace(config, dataset_dir='x')
  with pytest.raises(errors.UserError, match='num_seeds=2.*data='):
    grids.configs(config, grids.Grid(num_seeds=2))


def test_what_makes_an_evaluation_wrong_is_an_error(place):
  arrays = _arrays()
  arrays['rewards'][:] = 0.0
  np.savez(place / 'logs.npz', **arrays)
  with pytest.raises(errors.UserError, match='data=.*accept=no_rewards'):
    _run(place)
  assert _run(place, accept='no_rewards')['linear_srdice'].value == 0.0


def test_returns_of_the_logged_episodes():
  dataset = walk.dataset(0)
  found = returns.of_dataset(dataset, 0.9)
  ended = [each for each in dataset.to_episodes() if each.is_terminal]
  assert 0 < found.num_ended == len(ended)
  assert found.num_ended + found.num_cut == dataset.num_initial_states
  sums = [each.rewards.sum() for each in ended]
  assert found.mean_return == pytest.approx(np.mean(sums), rel=1e-5)
  discounted = [
      np.sum(each.rewards * 0.9 ** np.arange(len(each.rewards)))
      for each in ended
  ]
  assert found.mean_discounted == pytest.approx(np.mean(discounted), rel=1e-5)


def test_an_environment_that_the_data_are_not_of(place):
  with pytest.raises(errors.UserError) as caught:
    _run(place, env_id='Hopper-v4')
  line = str(caught.value)
  assert line.startswith('env=Hopper-v4: its observations are float32[11]')
  assert 'those of the data are float32' in line and '\n' not in line


def test_noise_that_plays_no_part(place):
  with pytest.raises(errors.UserError, match='^target_sigma=0.1: plays no'):
    _run(place, policy='random', target_sigma=0.1)
  assert _run(place, target_sigma=0.1)['linear_srdice'].value


def test_tables_and_what_is_accepted_in_library_calls(place):
  arrays = _arrays()
  table = pd.DataFrame(
      {f's{j}': column for j, column in enumerate(arrays['observations'].T)}
  )
  table['a'], table['r'] = arrays['actions'][:, 0], arrays['rewards']
  table['done'], table['cut'] = arrays['terminals'], arrays['timeouts']
  table.to_csv(place / 'log.csv', index=False)
  evaluate = functools.partial(
      srdice_tf.evaluate,
      'walk_policy:act',
      algos='linear_srdice',
      gamma=walk.GAMMA,
      hyperparameters=_VALUES,
      progress=False,
  )
  columns = 'state=s*,action=a,reward=r,terminal=done,timeout=cut'
  found = evaluate(place / 'log.csv', columns=columns)
  assert np.isfinite(found['linear_srdice'].value)
  with pytest.raises(errors.UserError, match='^columns=state=s'):
    evaluate(arrays, columns=columns)
  twice = 2 * walk.dataset(0).to_episodes()
  with pytest.raises(errors.UserError, match='accept=duplicate_episodes'):
    evaluate(twice)
  assert evaluate(twice, accept='duplicate_episodes')['linear_srdice'].value


def test_the_same_as_library_calls(place):
  """File, arrays and data set; name and function: one and the same."""
  found = _run(place)['linear_srdice'].value
  function = importlib.import_module('walk_policy').act
  evaluate = lambda policy, data: srdice_tf.evaluate(
      policy,
      data,
      'linear_srdice',
      walk.GAMMA,
      hyperparameters=_VALUES,
      progress=False,
  )
  for policy in ('walk_policy:act', function):
    for data in (str(place / 'logs.npz'), _arrays(), walk.dataset(0)):
      value = evaluate(policy, data)['linear_srdice'].value
      assert value == pytest.approx(found, rel=1e-6)
  with pytest.raises(errors.UserError, match='function of states'):
    evaluate(3, _arrays())


def test_logged_target_actions_serve_as_the_policy(place):
  """Those who cannot give their policy get the same value."""
  found = _run(place)['linear_srdice'].value
  act = importlib.import_module('walk_policy').act
  dataset = walk.dataset(0)
  np.savez(
      place / 'actions.npz',
      next_actions=act(
          dataset.next_states(np.arange(dataset.num_transitions)).numpy()
      ),
      initial_actions=act(
          dataset.initial_states(np.arange(dataset.num_initial_states)).numpy()
      ),
  )
  there = _run(place, policy=str(place / 'actions.npz'))['linear_srdice']
  assert there.value == pytest.approx(found, rel=1e-6)
