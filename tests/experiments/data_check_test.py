"""Tests of looking through logged data, from a file to the report."""

import os

import numpy as np
import pytest
from tf_agents.policies import policy_saver

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.experiments import data_check
from srdice_tf.policies import loading
from srdice_tf.reports import data_report
from tests import warm_processes

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def _arrays(length=40, count=40, num_observations=3, is_terminal=False):
  """Returns steps of a slow walk, as Pendulum's specs have them."""
  rng = np.random.default_rng(0)
  steps = rng.uniform(-0.1, 0.1, (count, length + 1, num_observations))
  starts = rng.normal(size=(count, 1, num_observations))
  rows = (starts + steps.cumsum(axis=1)).astype(np.float32)
  ends = np.zeros((count, length), bool)
  ends[:, -1] = True
  flat = lambda values: values.reshape(count * length, *values.shape[2:])
  return {
      'observations': flat(rows[:, :-1]),
      'next_observations': flat(rows[:, 1:]),
      'actions': flat(rng.uniform(-1.9, 1.9, (count, length, 1))),
      'rewards': flat(rng.normal(1.0, 0.1, (count, length))),
      'terminals': flat(ends & is_terminal),
      'timeouts': flat(ends & (not is_terminal)),
  }


@pytest.fixture(name='save')
def make_save(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)  # Lines are as long as the path is.

  def save(**changed):
    path = 'logs.npz'
    np.savez(path, **_arrays() | changed)
    return path

  return save


def _check(path, **fields):
  """Returns what is found, and the text that is shown of it."""
  found = data_check.run(data_check.DataRequest(path, **fields))
  text = data_report.text(found)
  assert max(map(len, text.splitlines())) <= data_report.WIDTH
  return found, text


def test_good_data_and_what_to_try_next(save):
  path = save()
  found, text = _check(path)
  assert found.findings == () and found.action_support is None
  assert '1,600 in 40 episodes: 0 end in a terminal state, 40 are cut' in text
  assert 'float32[1], bounds of the logged actions' in text
  assert 'no errors, no warnings' in text
  lines = text.split('next ')[1].replace('\\\n', ' ').split()
  command = ['python', 'binaries/check_data.py', f'--data={path}']
  assert lines == [*command, '--policy=...']


def test_ranges_are_those_of_the_data(save):
  arrays = _arrays()
  found, text = _check(save())
  columns = {each.name: each for each in found.summary.columns}
  assert list(columns) == [
      'reward', 'action', 'observation 0', 'observation 1', 'observation 2'
  ]
  rows = np.concatenate(
      [arrays['observations'], arrays['next_observations'][39::40]]
  )
  spread = columns['observation 1']
  assert spread.smallest == rows[:, 1].min()
  assert spread.largest == rows[:, 1].max()
  assert spread.mean == pytest.approx(rows[:, 1].mean(), abs=1e-5)
  assert spread.deviation == pytest.approx(rows[:, 1].std(), rel=1e-4)
  length, value = found.summary.episodes
  assert length.is_constant and length.mean == 40.0
  returns = arrays['rewards'].reshape(40, 40).sum(axis=1)
  assert value.largest == pytest.approx(returns.max(), rel=1e-5)
  assert f'{returns.max():.2f}' in text


def test_an_environment_has_the_bounds(save):
  path = save(actions=np.linspace(-1.9, 2.5, 1600)[:, None])
  found, _ = _check(path)
  assert not found.num_errors
  found, text = _check(path, env_id='Pendulum-v1')
  assert [each.name for each in found.findings] == ['action_range']
  assert 'bounds of Pendulum-v1' in text and '--accept=action_range' in text
  found, _ = _check(path, env_id='Pendulum-v1', accept='action_range')
  assert not found.num_errors


def test_an_environment_that_the_data_are_not_of(save):
  found, text = _check(save(**_arrays(num_observations=4)),
                       env_id='Pendulum-v1')
  assert found.num_errors == 1
  assert 'observations are float32[4], those of Pendulum-v1 are' in text
  assert 'accept' not in text  # Nobody can accept that.


def test_the_time_limit_of_the_environment(save):
  path = save(**_arrays(200, 10, is_terminal=True))
  for env_id in ('', 'Pendulum-v1'):
    found, text = _check(path, env_id=env_id)
    assert found.acceptable == ['time_limit']
    assert 'rows 199, 399' in text


def test_a_policy_and_its_support(save):
  found, text = _check(save(), policy='random', env_id='Pendulum-v1')
  assert found.findings == () and found.action_support.far_share < 0.05
  assert 'of its actions at 1,600 logged states are far' in text
  assert 'binaries/run_ope.py' in text and '--env=Pendulum-v1' in text
  narrow = save(actions=_arrays()['actions'] * 0.01)
  found, text = _check(narrow, policy='random', env_id='Pendulum-v1')
  assert found.findings[0].name == 'support' and not found.num_errors
  assert 'do not tell what the policy is worth' in ' '.join(text.split())
  found, _ = _check(narrow, policy='random')
  assert found.findings[0].name == 'bounds'  # What is uniform is not known.


def test_a_policy_with_bounds_of_its_own(save):
  env = environments.load('Pendulum-v1')  # Bounds of 2, the data's are 1.9.
  policy = loading.load(
      'untrained', '', env.observation_spec(), env.action_spec()
  )
  path = 'policy'
  policy_saver.PolicySaver(policy, batch_size=None).save(path)
  found, _ = _check(save(), policy=path)
  assert not found.num_errors and found.action_support is not None


def test_a_file_of_actions(save):
  path, arrays = 'actions.npz', _arrays()
  np.savez(
      path,
      next_actions=arrays['actions'],
      initial_actions=arrays['actions'][::40],
  )
  found, _ = _check(save(), policy=path)
  assert not found.num_errors and found.action_support.num_queries == 1600


def test_a_policy_that_does_not_fit(save):
  weights = 'weights.npz'
  np.savez(weights, other=np.zeros(3))
  found, text = _check(save(), policy=weights)
  assert found.findings[0].name == 'policy' and found.num_errors == 1
  assert weights in text.replace('\n    ', '')
  found, _ = _check(save(), policy='nothing.of_that_name')
  assert 'no such file' in found.findings[0].text


def test_many_columns_and_discrete_actions(save):
  rng = np.random.default_rng(0)
  actions = rng.integers(0, 2, 1600) * 2
  arrays = _arrays(num_observations=40) | {'actions': actions}
  found, text = _check(save(**arrays))
  assert 'and 24 more columns of observations' in text
  assert found.summary.action_counts[1] == 0
  assert '1 of 3 actions are never taken (1)' in text
  assert f'{found.summary.action_counts[2]:,}' in text


def test_names_of_what_is_accepted_are_checked_first():
  with pytest.raises(errors.UserError, match='accept=everything'):
    _check('not_there.npz', accept='everything')


def test_the_program_exits_with_1(save, tmp_path):
  path = tmp_path / save(rewards=np.zeros(1600))
  process = warm_processes.run('binaries/check_data.py', f'--data={path}')
  assert process.returncode == 1 and not process.stderr
  assert 'no_rewards: all rewards are 0' in process.stdout
