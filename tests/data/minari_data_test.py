"""Tests for data sets of Minari, which Minari itself writes."""

import json
import pathlib
import shutil
import warnings

from gymnasium import spaces
import h5py
import minari
from minari.data_collector import EpisodeBuffer
import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import environments
from srdice_tf import errors
from tests import collected_data

_ID = 'toy/walk-v0'
_BOX = spaces.Box(-5.0, 5.0, (2,), np.float64)
_ACTIONS = spaces.Box(-1.0, 2.0, (1,), np.float32)


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
  monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path))
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Minari warns of all that is not given.
    yield


def _buffer(length=3, is_terminal=True, **fields):
  ends = np.arange(length) == length - 1
  return EpisodeBuffer(**{
      'observations': np.arange(2.0 * length + 2).reshape(length + 1, 2) / 10,
      'actions': np.full((length, 1), 0.5, np.float32),
      'rewards': np.arange(length, dtype=float),
      'terminations': ends & is_terminal,
      'truncations': ends & ~np.bool_(is_terminal),
      **fields,
  })


def _create(*buffers, **arguments):
  """Writes a data set to the cache; returns its directory."""
  minari.create_dataset_from_buffers(_ID, list(buffers), **{
      'observation_space': _BOX, 'action_space': _ACTIONS, **arguments,
  })
  return pathlib.Path(minari.storage.get_dataset_path(_ID))


def _message(name) -> str:
  with pytest.raises(errors.UserError) as info:
    data.open_data(str(name))
  message = str(info.value)
  assert '\n' not in message
  return message


@pytest.mark.parametrize('data_format', ['hdf5', 'arrow'])
@pytest.mark.parametrize(
    'env_id', [collected_data.PENDULUM, collected_data.CARTPOLE]
)
def test_round_trip(env_id, data_format):
  dataset = collected_data.dataset(env_id)
  buffers = [
      _buffer(
          len(each.rewards),
          each.is_terminal,
          observations=each.observations,
          actions=each.actions,
          rewards=each.rewards,
      )
      for each in dataset.to_episodes()
  ]
  place = _create(
      *buffers, env=env_id, observation_space=None, action_space=None,
      data_format=data_format,
  )
  files = sorted(path for path in place.rglob('*') if path.is_file())
  before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
  env = environments.load(env_id)
  for name in (f'minari:{_ID}', str(place), str(place / 'data')):
    found = data.open_data(name)
    assert found.dataset.checksum() == dataset.checksum()
    assert found.env_id == env_id and found.bounds_known and not found.notes
    np.testing.assert_array_equal(
        found.action_spec.maximum, env.action_spec().maximum
    )
    assert found.action_spec.dtype == env.action_spec().dtype
    assert found.observation_spec.shape == env.observation_spec().shape
  assert sorted(path for path in place.rglob('*') if path.is_file()) == files
  assert before == [
      (path.read_bytes(), path.stat().st_mtime_ns) for path in files
  ]


def test_ends_and_bounds():
  place = _create(_buffer(3, True), _buffer(2, False))
  found = data.open_data(str(place))
  np.testing.assert_array_equal(found.dataset.not_done, [1, 1, 0, 1, 1])
  assert found.action_spec.minimum == -1 and found.action_spec.maximum == 2
  np.testing.assert_array_equal(found.observation_spec.maximum, [5, 5])
  assert found.observation_spec.dtype == tf.float32 and found.env_id == ''


def test_discrete_spaces_are_numbered_from_0():
  place = _create(
      _buffer(observations=np.array([3, 5, 4, 3]), actions=np.array([1, 2, 1])),
      observation_space=spaces.Discrete(4, start=3),
      action_space=spaces.Discrete(3, start=1),
  )
  found = data.open_data(str(place))
  np.testing.assert_array_equal(found.dataset.actions, [0, 1, 0])
  assert found.action_spec.maximum == 2
  np.testing.assert_array_equal(found.dataset.states(tf.range(3)), [0, 2, 1])
  assert found.observation_spec.maximum == 3


def test_bounds_that_are_not_finite():
  place = _create(_buffer(), action_space=spaces.Box(-np.inf, np.inf, (1,)))
  found = data.open_data(str(place))
  assert not found.bounds_known and 'no finite bounds' in found.notes[0]
  assert found.action_spec.maximum == 0.5


@pytest.mark.parametrize('space, observations, name', [
    (spaces.Dict(goal=_BOX, at=_BOX),
     {'goal': np.zeros((4, 2)), 'at': np.zeros((4, 2))},
     'the observation space is Dict(at, goal)'),
    (spaces.Tuple([_BOX]), (np.zeros((4, 2)),),
     'the observation space is Tuple'),
    (spaces.MultiBinary(2), np.zeros((4, 2), np.int8),
     'the observation space is MultiBinary'),
])
def test_other_spaces_are_refused_by_name(space, observations, name):
  place = _create(_buffer(observations=observations), observation_space=space)
  message = _message(place)
  assert name in message and 'expected Box or Discrete' in message


def test_other_action_spaces_are_refused_by_name():
  place = _create(
      _buffer(actions=np.zeros((3, 2), np.int64)),
      action_space=spaces.MultiDiscrete([2, 2]),
  )
  assert 'the action space is MultiDiscrete; expected' in _message(place)


def test_an_id_that_is_not_here(tmp_path):
  shutil.rmtree(tmp_path)
  assert _message('minari:D4RL/door/human-v2') == (
      f'data=minari:D4RL/door/human-v2: not in {tmp_path}; download it first'
      ' with: minari download D4RL/door/human-v2.'
  )
  assert not tmp_path.exists()  # Not even the cache is made.
  tmp_path.mkdir()
  assert 'not in' in _message('minari:')


@pytest.mark.parametrize('fields, found', [
    ({'observations': np.zeros((3, 2))}, 'observations have the shape (3, 2);'
     ' expected (4, 2)'),
    ({'observations': np.zeros((4, 3))}, 'observations have the shape (4, 3)'),
    ({'actions': np.zeros((2, 1))}, 'actions have the shape (2, 1)'),
    ({'actions': np.zeros((3, 2))}, 'expected (3, 1)'),
    ({'rewards': np.array([0, np.nan, 0])}, 'rewards has the value nan in row'
     ' 1; expected finite'),
    ({'observations': np.full((4, 2), np.inf)}, 'observations has the value'
     ' inf in row 0; expected finite'),
    ({'rewards': np.zeros((3, 1))}, 'rewards are float64[3, 1]; expected [n]'),
    ({'terminations': np.array([True, False, True])}, 'it ends in step 0, but'
     ' has 3 steps; expected terminations'),
    ({'terminations': np.zeros(2, bool)}, 'terminals has 2 rows'),
])
def test_what_is_refused(fields, found):
  place = _create(_buffer(), _buffer(**fields))
  message = _message(place)
  assert f'{place}/data: episode 1: ' in message and found in message


def test_numbers_that_are_not_in_the_space():
  discrete = {'action_space': spaces.Discrete(2)}
  place = _create(_buffer(actions=np.array([0, 5, 1])), **discrete)
  assert 'actions has the value 5; its space ends with 1' in _message(place)
  shutil.rmtree(place)
  place = _create(_buffer(actions=np.array([0, 0.5, 1])), **discrete)
  assert 'actions are of float64; expected whole numbers' in _message(place)


def test_damage():
  place = _create(_buffer(200))
  file = place / 'data' / 'main_data.hdf5'
  whole = file.read_bytes()
  file.write_bytes(whole[: len(whole) // 2])
  assert 'episode 0: cannot be read' in _message(place)
  file.write_bytes(b'')
  assert 'episode 0: cannot be read' in _message(place)
  file.unlink()
  assert 'No data found' in _message(place)
  file.write_bytes(whole)
  with h5py.File(file, 'a') as content:
    del content['episode_0/rewards']
  message = _message(place)
  assert 'rewards' in message and 'expected observations, actions' in message


def test_metadata():
  place = _create(_buffer())
  file = place / 'data' / 'metadata.json'
  metadata = json.loads(file.read_text())
  file.write_text(json.dumps({**metadata, 'total_episodes': 0}))
  assert 'there are no episodes' in _message(place)
  file.write_text(json.dumps({**metadata, 'total_episodes': 2}))
  assert 'episode 1: cannot be read' in _message(place)
  del metadata['action_space']
  file.write_text(json.dumps(metadata))
  assert 'has no action_space; expected a data set of' in _message(place)
  file.write_text('{')
  assert f'{place}/data: cannot be read' in _message(place)
