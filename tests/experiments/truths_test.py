"""Tests for true values: exact where they can be, kept under what they are."""

import dataclasses
import json
import multiprocessing
import os

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.evaluation import rollouts
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truths
from srdice_tf.policies import loading

_CHAIN = 'FiveStateChain'
_TASK = tasks.TaskConfig(_CHAIN, 'random', 'main', gamma=0.9, truth_episodes=5)
_PENDULUM = tasks.TaskConfig(
    'Pendulum-v1', 'untrained', 'hard', gamma=0.5, truth_episodes=5
)


def _batch(value):
  return rollouts.RollOutBatch([value], [1.0], [1.0], [1.0], [1.0, 1.0, 1.0])


@pytest.fixture(name='played')
def _played(monkeypatch):
  """Returns the names of the batches that were played, as they are played."""
  names, play = [], rollouts._roll_out

  def roll_out(config, policy, name, earlier, bar):
    names.append(name)
    return play(config, policy, name, earlier, bar)

  monkeypatch.setattr(rollouts, '_roll_out', roll_out)
  return names


def _chain_value(gamma, num_steps):
  """Sums up the rewards of the uniform walk step by step."""
  states, value = np.eye(5)[0], 0.0
  transition = np.zeros((5, 5))
  for state in range(5):
    for move in (-1, 1):
      transition[state, np.clip(state + move, 0, 4)] += 0.5
  for step in range(num_steps):
    states = states @ transition
    value += (1.0 - gamma) * gamma**step * states[4]
  return value


@pytest.mark.parametrize('keep_time_limit, steps', [(False, 4000), (True, 200)])
def test_finite_mdps_are_exact(tmp_path, keep_time_limit, steps):
  config = dataclasses.replace(
      _TASK, gamma=0.99, keep_time_limit=keep_time_limit
  )
  found = truths.of_task(tasks.Task(config), str(tmp_path))
  for value in found.values():
    assert value.exact and value.standard_error == 0.0
    assert value.value == pytest.approx(_chain_value(0.99, steps), abs=1e-6)
    assert value.occupancy == pytest.approx(1.0)


def test_policies_without_probabilities_are_rolled_out(monkeypatch):
  monkeypatch.setattr(truths.actions, 'probability_table', lambda *_: None)
  task = tasks.Task(_TASK)
  found = truths.value(rollouts.RollOutConfig(_CHAIN, 0.9), task.target, 5)
  assert not found.exact and found.standard_error > 0.0


def test_roll_outs_are_kept(tmp_path, played):
  first = truths.of_task(tasks.Task(_PENDULUM), str(tmp_path))
  again = truths.of_task(tasks.Task(_PENDULUM), str(tmp_path))
  assert again == first and played == ['0:5', '0:5']
  assert first['target'].value != first['behaviour'].value
  # More roll-outs are of the same file, under the same description.
  more = dataclasses.replace(_PENDULUM, truth_episodes=7)
  assert truths.of_task(tasks.Task(more), str(tmp_path)) != first
  assert played[2:] == ['0:7', '0:7']
  assert truths.of_task(tasks.Task(_PENDULUM), str(tmp_path)) == first


def test_roll_outs_of_another_file_are_not_played_again(tmp_path, played):
  here, there = str(tmp_path / 'here'), str(tmp_path / 'there')
  truths.merge(str(tmp_path / 'none'), here)
  assert not os.path.exists(here)
  found = truths.of_task(tasks.Task(_PENDULUM), there)
  # What is there already stays, with what is added.
  more = dataclasses.replace(_PENDULUM, gamma=0.6)
  other = truths.of_task(tasks.Task(more), here, ['target'])
  num_played = len(played)
  truths.merge(there, here)
  assert truths.of_task(tasks.Task(_PENDULUM), here) == found
  assert truths.of_task(tasks.Task(more), here, ['target']) == other
  assert len(played) == num_played


def test_batches_of_two_files_are_joined(tmp_path):
  config, batch = rollouts.RollOutConfig('Pendulum-v1', 0.9), _batch(1.0)
  for name, number in (('a', '0:1'), ('b', '1:1')):
    truths.Cache(str(tmp_path / name), config, {}).add(number, batch)
  own = _batch(2.0)
  truths.Cache(str(tmp_path / 'b'), config, {}).add('0:1', own)
  truths.merge(str(tmp_path / 'a'), str(tmp_path / 'b'))
  found = truths.Cache(str(tmp_path / 'b'), config, {}).read()
  assert found == {'0:1': own, '1:1': batch}


def test_an_interrupted_value_goes_on(tmp_path, played, monkeypatch):
  """At most a batch is lost, and the numbers are those of one go."""
  monkeypatch.setattr(rollouts, 'BATCH_SIZE', 4)
  config = dataclasses.replace(
      _PENDULUM, truth_episodes=0, truth_max_episodes=10
  )
  whole = truths.of_task(tasks.Task(config), str(tmp_path / 'a'), ['target'])
  assert played == ['0:4', '1:4', '2:2'] and whole['target'].is_capped
  roll_out = rollouts._roll_out

  def killed(config, policy, name, earlier, bar):
    if name == '2:2':
      raise KeyboardInterrupt
    return roll_out(config, policy, name, earlier, bar)

  monkeypatch.setattr(rollouts, '_roll_out', killed)
  with pytest.raises(KeyboardInterrupt):
    truths.of_task(tasks.Task(config), str(tmp_path / 'b'), ['target'])
  monkeypatch.setattr(rollouts, '_roll_out', roll_out)
  del played[:]
  again = truths.of_task(tasks.Task(config), str(tmp_path / 'b'), ['target'])
  assert again == whole and played == ['2:2']


def _names(directory):
  return set(json.loads((directory / truths.FILE_NAME).read_text()))


@pytest.mark.parametrize(
    'change',
    [
        {'gamma': 0.6},
        {'keep_time_limit': True},
        {'setting': 'easy'},
        {'policy': 'random'},
        {'env_id': 'MountainCarContinuous-v0'},
    ],
    ids=lambda change: next(iter(change)),
)
def test_nothing_is_used_under_another_description(tmp_path, change, played):
  truths.of_task(tasks.Task(_PENDULUM), str(tmp_path))
  before = _names(tmp_path)
  task = tasks.Task(dataclasses.replace(_PENDULUM, **change))
  found = truths.of_task(task, str(tmp_path))
  assert before < _names(tmp_path)
  assert found == truths.of_task(task, str(tmp_path / 'other'))
  assert len(played) >= 5


def test_each_number_of_the_noise_is_part_of_the_description(tmp_path):
  task = tasks.Task(_PENDULUM)
  truths.of_task(task, str(tmp_path))
  for name, description in task.policy_descriptions.items():
    for field in description:
      other = {**description, field: 'another'}
      cache = truths.Cache(
          str(tmp_path), rollouts.RollOutConfig('Pendulum-v1', 0.5), other
      )
      assert not cache.read(), (name, field)


def test_arguments_of_the_environment_are_part_of_it(tmp_path, monkeypatch):
  config = rollouts.RollOutConfig('Pendulum-v1', 0.5)
  batch = _batch(1.0)
  truths.Cache(str(tmp_path), config, {}).add('0:1', batch)
  assert truths.Cache(str(tmp_path), config, {}).read() == {'0:1': batch}
  monkeypatch.setattr(
      environments, 'description', lambda env_id: {'id': env_id, 'g': 9.0}
  )
  assert not truths.Cache(str(tmp_path), config, {}).read()


def _edited(text):
  """Another value, in the same form."""
  entries = json.loads(text)
  batch = next(iter(next(iter(entries.values()))['batches'].values()))
  batch['values'][0] += 1.0
  return json.dumps(entries)


def _without_checksum(text):
  entries = json.loads(text)
  for entry in entries.values():
    del entry['checksum']
  return json.dumps(entries)


def _under_another_key(text):
  first, second = json.loads(text).items()
  return json.dumps({first[0]: second[1], second[0]: first[1]})


@pytest.mark.parametrize(
    'damage',
    [
        lambda text: '',
        lambda text: '\x00\xff',
        lambda text: text[: len(text) // 2],
        lambda text: '[1, 2]',
        lambda text: '{"a": 3}',
        lambda text: '{"0.99 100 abc hard": {"target": {"value": 1.0}}}',
        _edited,
        _without_checksum,
        _under_another_key,
    ],
    ids='empty garbage cut list shape old edited unsealed moved'.split(),
)
def test_a_damaged_file_is_not_believed(tmp_path, damage):
  path = tmp_path / truths.FILE_NAME
  truths.of_task(tasks.Task(_PENDULUM), str(tmp_path))
  path.write_text(damage(path.read_text()))
  with pytest.raises(errors.UserError) as error:
    truths.of_task(tasks.Task(_PENDULUM), str(tmp_path))
  assert str(error.value).startswith(f'{path}: ')
  assert str(error.value).endswith('remove the file, and true values are '
                                   'measured again.')


def _add(directory, number):
  config = rollouts.RollOutConfig('Pendulum-v1', seed=number)
  batch = _batch(1.0)
  for name in range(10):
    truths.Cache(directory, config, {}).add(f'{name}:1', batch)


def test_processes_keep_each_other_s_entries(tmp_path):
  context = multiprocessing.get_context('fork')
  processes = [
      context.Process(target=_add, args=(str(tmp_path), number))
      for number in range(4)
  ]
  for process in processes:
    process.start()
  for process in processes:
    process.join()
  entries = json.loads((tmp_path / truths.FILE_NAME).read_text())
  assert [len(entry['batches']) for entry in entries.values()] == [10] * 4


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'truth_episodes': 1}, 'truth_episodes=1: .* 0 .* or at least 2'),
        ({'truth_episodes': -1}, 'truth_episodes=-1: expected'),
        ({'truth_max_episodes': 1}, 'truth_max_episodes=1: expected'),
        ({'keep_time_limit': 3}, 'keep_time_limit=3: expected'),
    ],
)
def test_settings_of_the_truth_are_checked(fields, message):
  with pytest.raises(errors.UserError, match=message):
    tasks.TaskConfig(_CHAIN, **fields)


def test_a_policy_alone(tmp_path):
  """As evaluate_policy asks: no file, the return of whole episodes."""
  env = environments.load(_CHAIN)
  policy = loading.load(
      'random', _CHAIN, env.observation_spec(), env.action_spec()
  )
  config = rollouts.RollOutConfig(_CHAIN, 0.9, whole_episodes=True)
  found = truths.value(config, policy, 3)
  assert found.exact and found.mean_length == 200.0
  assert found.value == pytest.approx(_chain_value(0.9, 500), abs=1e-6)


def test_runs_of_an_environment_share_one_truth(tmp_path):
  config = runs.RunConfig(
      dataclasses.replace(_TASK, num_transitions=200),
      ('tabular_srdice',),
      hyperparameters.Hyperparameters(tabular_missing_mass=1.0),
      data_root=str(tmp_path / 'data'),
  )
  runs.run(config, str(tmp_path / 'run'))
  assert (tmp_path / 'data' / 'truth' / _CHAIN / truths.FILE_NAME).exists()
  other = dataclasses.replace(config, seed=1)
  assert runs.resolve(other)[1].truth_dir == config.truth_dir


def test_without_truth_nothing_is_rolled_out(tmp_path, monkeypatch):
  monkeypatch.setattr(rollouts, 'measure', None)
  config = dataclasses.replace(_TASK, truth='none')
  assert truths.of_task(tasks.Task(config), str(tmp_path)) == {}
  assert not list(tmp_path.iterdir())
