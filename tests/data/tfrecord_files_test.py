"""Tests for files of TF-Agents' TFRecordObserver."""

import os
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.drivers import py_driver
from tf_agents.environments import tf_py_environment
from tf_agents.policies import random_tf_policy
from tf_agents.utils import common
from tf_agents.utils import example_encoding_dataset

from srdice_tf import data
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data.sources import tfrecord_files
from srdice_tf.data.sources import trajectory_episodes
from srdice_tf.data.sources import trajectory_fields
from tests import fixtures
from tests.data import agent_steps

_COUNTER = fixtures.COUNTER


def _write(path, steps, spec=None, **kwargs):
  observer = example_encoding_dataset.TFRecordObserver(
      str(path), spec or agent_steps.spec_of(_COUNTER), py_mode=True, **kwargs
  )
  for step in steps:
    observer(step)
  observer.close()
  return str(path)


def _episode(length=3, is_terminal=True, **fields):
  rng = np.random.default_rng(length)
  return data.Episode(**{
      'observations': rng.normal(size=(length + 1, 3)).astype(np.float32),
      'actions': rng.uniform(-1, 1, (length, 1)).astype(np.float32),
      'rewards': rng.normal(size=length).astype(np.float32),
      'is_terminal': is_terminal,
      **fields,
  })


def _steps(*episodes, **fields):
  """Returns the steps of episodes, with other values in some fields."""
  steps = [step for each in episodes for step in agent_steps.steps_of(each)]
  for name, (number, value) in fields.items():
    steps[number] = steps[number]._replace(**{name: value})
  return steps


def test_a_driver_writes_terminal_cut_and_open_episodes(tmp_path):
  env = environments.load(_COUNTER)
  path, recorder = str(tmp_path / 'steps'), agent_steps.Recorder()
  observer = example_encoding_dataset.TFRecordObserver(
      path, agent_steps.spec_of(_COUNTER), py_mode=True
  )
  driver = py_driver.PyDriver(
      env, agent_steps.random_policy(env), [observer, recorder], max_steps=39
  )
  driver.run(env.reset())
  observer.close()
  found = tfrecord_files.load(path)
  episodes = found.dataset.to_episodes()
  agent_steps.assert_same_episodes(episodes, recorder.episodes())
  ends = [each.is_terminal for each in episodes]
  lengths = [len(each.rewards) for each in episodes]
  assert ends.count(True) and ends.count(False) > 1
  for length, is_terminal in zip(lengths[:-1], ends):
    assert is_terminal or length == fixtures.COUNTER_LIMIT
  assert not ends[-1]  # The driver stopped in the middle.
  assert found.notes == (
      '1 episodes have no last step and are taken as cut, not as terminal',
      'the last steps of 1 episodes are left out: the observations after them'
      ' are not there',
  )
  assert found.bounds_known
  np.testing.assert_array_equal(found.action_spec.maximum, np.ones([]))
  assert found.observation_spec.shape == (3,)


def test_a_compiled_driver_writes_log_probabilities(tmp_path):
  env = tf_py_environment.TFPyEnvironment(environments.load('CartPole-v1'))
  policy = random_tf_policy.RandomTFPolicy(
      env.time_step_spec(), env.action_spec(), emit_log_probability=True
  )
  path = str(tmp_path / 'steps')
  observer = example_encoding_dataset.TFRecordObserver(
      path, policy.trajectory_spec
  )
  dynamic_step_driver.DynamicStepDriver(
      env, policy, [common.function(observer)], num_steps=60
  ).run()
  observer.close()
  found = tfrecord_files.load(path)
  np.testing.assert_allclose(
      found.dataset.log_probabilities, np.log(0.5), rtol=1e-6
  )
  assert found.action_spec.dtype == tf.int64 and found.action_spec.maximum == 1
  assert found.dataset.num_transitions in (59, 60)
  assert all(each.is_terminal for each in found.dataset.to_episodes()[:-1])


@pytest.mark.parametrize('env_id', [_COUNTER, 'Pendulum-v1', 'GridWalk'])
def test_collected_data_come_back_bit_by_bit(tmp_path, env_id):
  dataset = agent_steps.collected(env_id)
  path = _write(
      tmp_path / 'x', _steps(*dataset.to_episodes()),
      agent_steps.spec_of(env_id),
  )
  assert tfrecord_files.load(path).dataset.checksum() == dataset.checksum()


def test_many_files_are_streams_of_their_own(tmp_path):
  first = _write(tmp_path / 'a.tfrecord', _steps(_episode(2), _episode(3)))
  # Goes on where another file ended, and ends without its boundary.
  rest = _steps(_episode(4), _episode(5))[2:-1]
  second = _write(tmp_path / 'b.tfrecord', rest)
  for name in ([first, second], str(tmp_path), str(tmp_path / '[ab]*')):
    found = tfrecord_files.load(name)
    lengths = [len(each.rewards) for each in found.dataset.to_episodes()]
    assert lengths == [2, 3, 5]
    assert all(each.is_terminal for each in found.dataset.to_episodes())
    assert found.notes == (
        '2 steps are left out: the starts of their episodes are not there',
        'the last observations of 1 terminal episodes are repeated: their'
        ' terminal states are not there',
    )
    assert not isinstance(name, str) or tfrecord_files.fits(name)
  assert sorted(os.listdir(tmp_path)) == [
      'a.tfrecord', 'a.tfrecord.spec', 'b.tfrecord', 'b.tfrecord.spec'
  ]


def test_discounts_of_an_environment_are_no_ends(tmp_path):
  steps = _steps(_episode(3), discount=(0, np.float32(0.9)))
  found = tfrecord_files.load(_write(tmp_path / 'x', steps))
  assert '1 discounts between 0 and 1 are taken as 1' in found.notes[0]
  assert found.dataset.not_done.numpy().tolist() == [1.0, 1.0, 0.0]


def test_compressed_frames_are_read_and_said_so(tmp_path):
  spec = agent_steps.spec_of(_COUNTER)._replace(
      observation=tf.TensorSpec((8, 8, 3), tf.uint8)
  )
  frames = np.full((4, 8, 8, 3), 7, np.uint8)
  steps = _steps(_episode(3, observations=frames))
  found = tfrecord_files.load(
      _write(tmp_path / 'x', steps, spec, compress_image=True)
  )
  assert found.dataset.observations.rows.shape == frames.shape
  assert 'JPEG' in found.notes[0]
  plain = tfrecord_files.load(_write(tmp_path / 'y', steps, spec))
  assert not plain.notes


def _error(name):
  with pytest.raises(errors.UserError) as error:
    tfrecord_files.load(name)
  assert '\n' not in str(error.value)
  return str(error.value)


def test_files_that_cannot_be_read(tmp_path):
  good = _write(tmp_path / 'good', _steps(_episode(40)))
  other = str(tmp_path / 'other')
  shutil.copy(good, other)
  assert _error(other).startswith(f'{other}.spec: there is no such file')
  assert 'there is no file with a .spec' in _error(str(tmp_path / 'none*'))
  assert not tfrecord_files.fits(other)
  shutil.copy(f'{good}.spec', f'{other}.spec')
  content = open(good, 'rb').read()
  open(other, 'wb').write(content[:-5])
  assert f'{other}: it is cut or damaged after 40 steps' in _error(other)
  open(other, 'wb').write(b'a,b,c\n' * 40)
  assert f'{other}: it is no TFRecord file' in _error(other)
  open(other, 'wb').close()
  assert f'{other}: there are no steps' in _error(other)
  with tf.io.TFRecordWriter(other) as writer:
    writer.write(b'no example')
  assert 'its records are no tf.train.Example' in _error(other)
  with tf.io.TFRecordWriter(other) as writer:
    writer.write(tf.train.Example().SerializeToString())
  found = _error(other)
  assert 'step 0 is not as its .spec says' in found
  assert 'observation float32[3], action float32[1], next_step_type' in found
  startless = _write(tmp_path / 'z.tfrecord', _steps(_episode(3))[1:])
  assert (
      f'{startless}: there is no episode; 2 steps are left out: the starts'
  ) in _error(startless)
  os.remove(f'{startless}.spec')
  assert tfrecord_files.fits(startless)  # So that the line below is seen.
  assert f'{startless}.spec: there is no such file' in _error(str(tmp_path))
  for content, message in (
      (b'', 'it is empty or cut'), (b'nonsense' * 9, 'it cannot be read')
  ):
    open(f'{other}.spec', 'wb').write(content)
    assert f'{other}.spec: {message}' in _error(other)
  wide = agent_steps.spec_of('Pendulum-v1')
  _write(tmp_path / 'other', [], wide)
  assert f'its spec is not that of {good}.spec' in _error([good, other])


def test_steps_that_cannot_be_used(tmp_path):
  spec = agent_steps.spec_of(_COUNTER)
  nest = {'position': spec.observation, 'speed': spec.observation}
  number = tf.TensorSpec((), tf.float32)
  whole = tf.TensorSpec((2,), tf.int64)
  for given, message in (
      (spec._replace(observation=nest),
       'observation is a nest of position, speed; expected one tensor'),
      (spec._replace(action=(spec.action, spec.action)),
       'action is a nest of 2; expected one tensor'),
      ({'reward': number}, 'its steps have reward; expected those of'),
      (spec._replace(reward=whole), 'reward has the shape (2,)'),
      (spec._replace(action=whole), 'action is int64[2]; expected a vector'),
  ):
    path = _write(tmp_path / 'spec', [], given)
    assert f'{path}.spec: {message}' in _error(path)
  path = _write(
      tmp_path / 'nan', _steps(_episode(3), reward=(1, np.float32(np.nan)))
  )
  assert f'{path}: 1 values of rewards are NaN or infinite' in _error(path)
  spec = agent_steps.spec_of('GridWalk')
  episode = _episode(2, observations=np.arange(3), actions=np.array([0, 9]))
  path = _write(tmp_path / 'action', _steps(episode), spec)
  assert f'{path}: action has the value 9; expected whole' in _error(path)


@pytest.mark.parametrize('fields, message', [
    ({'discount': (0, np.float32(np.nan))}, 'discount of step 0 is nan'),
    ({'discount': (1, np.float32(0))}, 'discount of step 1 is 0; expected 0'),
    ({'discount': (1, np.float32(2))}, 'discount of step 1 is 2'),
    ({'step_type': (2, np.int32(7))}, 'step_type of step 2 is 7'),
    ({'next_step_type': (0, np.int32(2))},
     'next_step_type of step 0 is 2, step_type of step 1 is 1'),
])
def test_steps_that_contradict_each_other(fields, message):
  spec = agent_steps.spec_of(_COUNTER)
  steps = _steps(_episode(3), **fields)
  columns = [np.stack(column) for column in zip(*map(tf.nest.flatten, steps))]
  steps = trajectory_fields.TrajectoryFields(spec, 'here').steps(columns)
  with pytest.raises(errors.UserError, match=f'^here: {message}'):
    trajectory_episodes.EpisodeMaker().episodes(steps, 'here')
