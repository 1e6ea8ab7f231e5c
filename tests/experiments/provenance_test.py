"""Tests that data are not used under another description."""

import dataclasses
import json

import numpy as np
import pytest

from srdice_tf import collection
from srdice_tf import errors
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truths
from srdice_tf.policies import settings
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from srdice_tf.replay import writers
from tests import fixtures

_ENV = 'FiveStateChain'
_VALUES = hyperparameters.Hyperparameters(
    linear_ridge=1e-6, linear_num_features=16, bootstrap_draws=0
)


def _task(policy='', **fields):
  fields = {'gamma': 0.9, 'truth_episodes': 2, **fields}
  return tasks.TaskConfig(_ENV, str(policy), **fields)


def _config(task, path='', seed=None, **fields):
  return runs.RunConfig(
      task, ('linear_srdice',), _VALUES, seed, str(path), **fields
  )


def _save(path, probability):
  np.save(path, np.tile([1 - probability, probability], (5, 1)))
  return path


@pytest.fixture(name='table', scope='module')
def _table(tmp_path_factory):
  return _save(tmp_path_factory.mktemp('policy') / 'table.npy', 0.7)


@pytest.fixture(name='other', scope='module')
def _other(tmp_path_factory):
  return _save(tmp_path_factory.mktemp('policy') / 'other.npy', 0.2)


@pytest.fixture(name='data', scope='module')
def _data(table, tmp_path_factory):
  """400 transitions of seed 3 with epsilon 0.4."""
  path = tmp_path_factory.mktemp('data')
  task = tasks.Task(
      _task(table, setting='main', epsilon=0.4, num_transitions=400)
  )
  task.dataset(str(path), 3)
  return path


def test_what_is_left_alone_follows_the_data(data, table):
  _, config = runs.resolve(_config(_task(), data))
  task = config.task
  assert (task.policy, task.behaviour_policy) == (str(table), str(table))
  assert (task.setting, task.epsilon) == ('main', 0.4)
  assert (task.num_transitions, config.seed) == (400, 3)
  assert task.greedy_probability == 0.0
  # What was resolved is resolved to itself.
  assert runs.resolve(config)[1] == config


def test_the_behaviours_value_is_of_the_policy_that_made_the_data(
    data, other, table, tmp_path
):
  task = _task(other, behaviour_policy=str(table))
  task, _ = runs.resolve(_config(task, data))
  values = truths.of_task(task, str(tmp_path))
  mdp = finite_mdps.five_state_chain()
  exact = lambda p: mdp.value(np.tile([1 - p, p], (5, 1)), 0.9)
  assert values['target'].value == pytest.approx(exact(0.2))
  assert values['behaviour'].value == pytest.approx(exact(0.6 * 0.7 + 0.2))


@pytest.mark.parametrize(
    'field, given, there',
    [
        ('setting', 'noise', 'main'),
        ('num_transitions', 777, 400),
        ('num_envs', 7, 1),
        ('epsilon', 0.1, 0.4),
        ('greedy_probability', 0.5, 0.0),
        ('env_id', 'GridWalk', _ENV),
    ],
)
def test_a_flag_that_differs_is_refused_by_name(data, field, given, there):
  task = dataclasses.replace(_task(), **{field: given})
  flag = 'env' if field == 'env_id' else field
  with pytest.raises(errors.UserError) as error:
    runs.resolve(_config(task, data))
  assert str(error.value).startswith(
      f'{flag}={given}: the data of dataset_dir={data} have {there};'
  )


def test_another_seed_is_refused(data):
  with pytest.raises(errors.UserError, match='seed=9: the data .* have 3;'):
    runs.resolve(_config(_task(), data, seed=9))
  assert runs.resolve(_config(_task(), data, seed=3))[1].seed == 3


def test_another_policy_is_refused_unless_the_datas_is_named(
    data, other, table
):
  with pytest.raises(errors.UserError) as error:
    runs.resolve(_config(_task(other), data))
  assert str(error.value) == (
      f'policy={other}: the data of dataset_dir={data} are of the policy'
      f' {table}; to evaluate {other} on them add behaviour_policy={table}.'
  )
  # Nor does it blame the data's epsilon, which nobody set.
  match = f'policy=random: the data of .* are of the policy {table}; to'
  with pytest.raises(errors.UserError, match=match):
    runs.resolve(_config(_task('random'), data))
  match = f'behaviour_policy={other}: the data of .* have {table}'
  with pytest.raises(errors.UserError, match=match):
    runs.resolve(_config(_task(table, behaviour_policy=str(other)), data))
  _, config = runs.resolve(
      _config(_task(other, behaviour_policy=str(table)), data)
  )
  assert config.task.policy_checksum != config.task.behaviour_checksum


def test_the_datas_policy_is_another_by_now(tmp_path):
  policy = _save(tmp_path / 'policy.npy', 0.3)
  task = _task(policy, setting='main', num_transitions=100)
  tasks.Task(task).dataset(str(tmp_path / 'data'), 0)
  _save(policy, 0.4)
  match = 'the data are of the policy .*policy.npy with the checksum'
  for given in (_task(), task):
    with pytest.raises(errors.UserError, match=match):
      runs.resolve(_config(given, tmp_path / 'data'))


@pytest.mark.parametrize('name', ['policy_checksum', 'environment', 'seed'])
def test_a_description_that_was_edited_is_refused(data, tmp_path, name):
  description = directories.DatasetDirectory(str(data)).read()
  description['collectors'][0][name] = [1]
  (tmp_path / 'dataset.json').write_text(json.dumps(description))
  match = rf'{name} in its description is \[1\]; it was edited'
  with pytest.raises(errors.UserError, match=match):
    runs.resolve(_config(_task(), tmp_path))


def test_data_without_the_noises_numbers_are_to_be_collected_anew(
    data, tmp_path
):
  description = directories.DatasetDirectory(str(data)).read()
  for name in settings.BEHAVIOUR_NUMBERS:
    del description['collectors'][0][name]
  (tmp_path / 'dataset.json').write_text(json.dumps(description))
  match = "lacks the noise's numbers behaviour_sigma,.*collect the data again"
  for task in (_task(), _task(setting='main')):
    with pytest.raises(errors.UserError, match=match):
      runs.resolve(_config(task, tmp_path))


def test_default_directories_never_meet(table, other):
  base = _task(table, setting='main', num_transitions=2000)
  changes = [
      {},
      {'policy': str(other)},
      {'setting': 'noise'},
      {'epsilon': 0.3},
      {'greedy_probability': 0.3},
      {'num_transitions': 1000},
      {'num_envs': 3},
      {'env_id': 'RandomMDP-5-2-2-0'},
  ]
  names = [
      runs.resolve(_config(dataclasses.replace(base, **change)))[1].dataset_dir
      for change in changes
  ]
  names.append(runs.resolve(_config(base, seed=1))[1].dataset_dir)
  assert len(set(names)) == len(names)
  assert names[0].startswith(f'data/{_ENV}_main_2000_seed0_')
  assert names[-1].startswith(f'data/{_ENV}_main_2000_seed1_')
  # What the data do not depend on does not name them.
  task = dataclasses.replace(base, gamma=0.8, truth_episodes=7)
  assert runs.resolve(_config(task))[1].dataset_dir == names[0]


def test_there_is_one_place_for_the_data(data):
  with pytest.raises(errors.UserError, match='not beside reverb_address'):
    _config(_task(), data, reverb_address='localhost:1')


def test_without_truth_the_behaviour_policy_may_be_missing(other, tmp_path):
  policy = _save(tmp_path / 'policy.npy', 0.3)
  task = _task(policy, setting='main', num_transitions=100)
  tasks.Task(task).dataset(str(tmp_path / 'data'), 0)
  policy.unlink()
  given = _task(other, behaviour_policy=str(policy))
  with pytest.raises(errors.UserError, match='policy.npy'):
    runs.resolve(_config(given, tmp_path / 'data'))
  given = dataclasses.replace(given, truth='none')
  found = runs.run(_config(given, tmp_path / 'data'), str(tmp_path / 'run'))
  assert found.truth is None and found.behaviour is None
  assert np.isfinite(found['linear_srdice'].value)


def test_an_empty_directory_is_filled_as_asked_for(table, tmp_path):
  task = _task(table, setting='noise', num_transitions=60)
  runs.run(_config(task, tmp_path / 'data', seed=2), str(tmp_path / 'run'))
  found = directories.DatasetDirectory(str(tmp_path / 'data')).read()
  fields = 'setting', 'num_transitions', 'seed', 'epsilon', 'greedy_probability'
  assert [found[name] for name in fields] == ['noise', 60, 2, 0.2, 0.2]
  assert found['policy'] == str(table)


def test_a_collection_that_was_stopped_goes_on(table, tmp_path, monkeypatch):
  write = writers.BatchWriter.__call__

  def fail(self, transition):
    if self.call == 50:
      raise ValueError
    write(self, transition)

  task = _task(table, setting='main', epsilon=0.4, num_transitions=100)
  with monkeypatch.context() as patch, pytest.raises(ValueError):
    patch.setattr(writers.BatchWriter, '__call__', fail)
    tasks.Task(task).dataset(str(tmp_path), 5)
  match = 'num_transitions=60: .* have 100'
  with pytest.raises(errors.UserError, match=match):
    runs.resolve(_config(_task(num_transitions=60), tmp_path))
  task, config = runs.resolve(_config(_task(), tmp_path))
  assert (config.seed, config.task.epsilon) == (5, 0.4)
  dataset = task.dataset(str(tmp_path), config.seed)
  assert dataset.num_transitions == 100


class _Served:
  """A server in this process, with collectors that have finished."""

  def __init__(self):
    self.server = servers.ReplayServer(capacity=2000)
    self.address = self.server.client.address

  def collect(self, config: tasks.TaskConfig, seed=0, collector=0):
    task = tasks.Task(config)
    collection.collect(
        task.collect_config(seed, collector), task.behaviour, self.server
    )


@pytest.fixture(name='served')
def _served():
  served = _Served()
  yield served
  served.server.stop()


def test_a_server_that_is_not_full_is_refused(served, table):
  task = _task(table, setting='main', num_transitions=100)
  served.collect(task)
  asked = tasks.Task(dataclasses.replace(task, num_transitions=900))
  collection.claim(asked.collect_config(0, collector=1), served.server)
  with pytest.raises(errors.UserError) as error:
    runs.resolve(_config(_task(), reverb_address=served.address))
  assert str(error.value).startswith(
      f'reverb_address={served.address}: 100 of 1,000 transitions are there;'
  )


def test_a_server_of_other_data_is_refused(served, table, other):
  task = _task(table, setting='main', num_transitions=100)
  served.collect(task)
  served.collect(task, collector=1)
  address = served.address
  _, config = runs.resolve(_config(_task(), reverb_address=address))
  assert (config.task.num_transitions, config.dataset_dir) == (200, '')
  where = f'the data of reverb_address={address}'
  for task, message in (
      (_task(num_transitions=100), f'num_transitions=100: {where} have 200'),
      (_task(setting='noise'), f'setting=noise: {where} have main'),
      (_task(epsilon=0.5), f'epsilon=0.5: {where} have 0.1'),
      (_task(other), f'policy={other}: {where} are of the policy {table}'),
  ):
    with pytest.raises(errors.UserError, match=message):
      runs.resolve(_config(task, reverb_address=address))


def test_collectors_of_two_behaviours_are_refused(served, table):
  task = _task(table, setting='main', num_transitions=100)
  served.collect(task)
  served.collect(dataclasses.replace(task, epsilon=0.5), collector=1)
  with pytest.raises(errors.UserError, match='differ in epsilon, 0.1 and 0.5'):
    runs.resolve(_config(_task(), reverb_address=served.address))


def test_the_run_directory_of_a_server_knows_its_data(served, table, tmp_path):
  task = _task(table, setting='main', num_transitions=100)
  served.collect(task)
  run = _config(_task(), reverb_address=served.address)
  runs.run(run, str(tmp_path))
  served.collect(task, collector=1)
  match = 'task.num_transitions=100, asked for is 200'
  with pytest.raises(errors.UserError, match=match):
    runs.run(run, str(tmp_path))


def test_continuous_numbers_are_compared_too(tmp_path):
  task = tasks.TaskConfig(fixtures.COUNTER, 'untrained', num_transitions=60)
  noisy = dataclasses.replace(task, behaviour_sigma=0.5, uniform_probability=0)
  tasks.Task(noisy).dataset(str(tmp_path), 0)
  config = dataclasses.replace(_config(task), dataset_dir=str(tmp_path))
  found = runs.resolve(config)[1].task
  assert (found.behaviour_sigma, found.uniform_probability) == (0.5, 0.0)
  assert (found.target_sigma, found.epsilon) == (0.0, None)
  easy = dataclasses.replace(task, uniform_probability=0.2)
  match = 'uniform_probability=0.2: .*0.0'
  with pytest.raises(errors.UserError, match=match):
    runs.resolve(dataclasses.replace(config, task=easy))
  # The target's noise is not the data's.
  other = dataclasses.replace(task, target_sigma=0.3)
  assert runs.resolve(dataclasses.replace(config, task=other))
