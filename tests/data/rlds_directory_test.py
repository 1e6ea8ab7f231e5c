"""Tests for data sets that TensorFlow Datasets wrote."""

import os
import sys

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.data.sources import rlds_directory
from tests import fixtures
from tests.data import agent_steps

tfds = pytest.importorskip('tensorflow_datasets')
from tensorflow_datasets.rlds import rlds_base  # noqa: E402  Needs the above.

_FLAGS = 'is_first', 'is_last', 'is_terminal'


def _steps(episode, **columns):
  """Returns the columns of an episode's steps."""
  after = lambda values: np.concatenate([values, np.zeros_like(values[:1])])
  length = len(episode.rewards)
  place = np.arange(length + 1)
  steps = {
      'observation': episode.observations,
      'action': after(episode.actions),
      'reward': after(episode.rewards),
      'discount': np.ones(length + 1, np.float32),
      'is_first': place == 0,
      'is_last': place == length,
      'is_terminal': (place == length) & episode.is_terminal,
      **columns,
  }
  if episode.is_terminal:
    steps['discount'][length - 1 :] = 0
  if episode.log_probabilities is not None:
    steps['log_probability'] = after(episode.log_probabilities)
  return {name: each for name, each in steps.items() if each is not None}


def _feature(column, **bounds):
  """Returns the feature of a column [T, ...]."""
  if isinstance(column, dict):
    return {name: _feature(each) for name, each in column.items()}
  return tfds.features.Tensor(
      shape=column.shape[1:], dtype=column.dtype, **bounds
  )


def _write(path, splits, action=None):
  """Writes splits of episodes of columns, as libraries for RLDS do."""
  path.mkdir(exist_ok=True)
  example = next(iter(splits.values()))[0]
  features = {name: _feature(column) for name, column in example.items()}
  config = rlds_base.DatasetConfig(
      name='c',
      observation_info=features.pop('observation', None),
      action_info=action or features.pop('action', None),
      reward_info=features.pop('reward', None),
      discount_info=features.pop('discount', None),
      step_metadata_info={
          name: feature
          for name, feature in features.items()
          if name not in _FLAGS and name != 'action'
      },
  )
  identity = tfds.core.dataset_info.DatasetIdentity(
      name='logs',
      version=tfds.core.Version('1.0.0'),
      data_dir=str(path),
      module_name='',
  )
  writer = tfds.core.SequentialWriter(
      rlds_base.build_info(config, identity), max_examples_per_shard=2
  )
  writer.initialize_splits(list(splits))
  for split, episodes in splits.items():
    writer.add_examples({split: [{'steps': _rows(each)} for each in episodes]})
  writer.close_all()
  return str(path)


def _rows(columns):
  """Returns a list of steps."""
  length = len(tf.nest.flatten(columns)[0])
  take = lambda t: tf.nest.map_structure(lambda column: column[t], columns)
  return [take(t) for t in range(length)]


def _walk(number=3, is_terminal=True, **fields):
  rng = np.random.default_rng(number)
  return data.Episode(**{
      'observations': rng.normal(size=(number + 1, 2)).astype(np.float32),
      'actions': rng.uniform(-1, 1, (number, 1)).astype(np.float32),
      'rewards': rng.normal(size=number).astype(np.float32),
      'is_terminal': is_terminal,
      **fields,
  })


@pytest.mark.parametrize(
    'env_id', [fixtures.COUNTER, 'Pendulum-v1', 'GridWalk']
)
def test_collected_data_come_back_bit_by_bit(tmp_path, env_id):
  dataset = agent_steps.collected(env_id)
  episodes = [_steps(each) for each in dataset.to_episodes()]
  found = rlds_directory.load(_write(tmp_path, {'train': episodes}))
  assert found.dataset.checksum() == dataset.checksum()
  assert not found.notes and not found.bounds_known
  assert rlds_directory.fits(str(tmp_path))


def test_specs_splits_and_log_probabilities(tmp_path):
  logs = np.array([-1.0, -2.0, -0.5], np.float32)
  walks = [_walk(3, log_probabilities=logs), _walk(3, False)]
  walks[1] = _walk(3, False, log_probabilities=logs)
  bounded = tfds.features.Tensor(
      shape=(1,), dtype=np.float32, minimum=-2, maximum=2
  )
  path = _write(
      tmp_path / 'a',
      {'train': [_steps(walks[0])], 'test': [_steps(walks[1])]},
      bounded,
  )
  found = rlds_directory.load(path)
  assert found.notes == ('all splits are read: train, test',)
  assert found.bounds_known
  assert found.action_spec.minimum == -2.0 and found.action_spec.maximum == 2.0
  wanted = data.Dataset.from_episodes(walks)
  assert found.dataset.checksum() == wanted.checksum()
  discrete = _walk(3, actions=np.array([0, 2, 1]))
  path = _write(
      tmp_path / 'b', {'train': [_steps(discrete)]},
      tfds.features.ClassLabel(num_classes=5),
  )
  found = rlds_directory.load(path)
  assert found.bounds_known and found.action_spec.maximum == 4
  assert found.dataset.actions.numpy().tolist() == [0, 2, 1]


def test_what_is_assumed_is_said(tmp_path):
  zeros, ones = np.zeros(4, bool), np.ones(4, np.float32)
  path = _write(tmp_path, {'train': [
      _steps(_walk(3)),
      _steps(_walk(3, False), is_last=zeros),
      _steps(_walk(3, False), is_first=zeros),
      {name: each[:1] for name, each in _steps(_walk(3)).items()},
      {**_steps(_walk(3)), 'discount': ones},
  ]})
  found = rlds_directory.load(path)
  assert found.notes == (
      '1 episodes are left out: is_first is not set in their first steps',
      '1 episodes are left out: they have a single observation',
      'the last steps of 1 episodes are left out: is_last is not set, so the'
      ' observations after them are not there',
      'the discounts of 1 episodes do not agree with is_terminal, which'
      ' decides',
  )
  assert found.dataset.not_done.numpy().tolist() == [1, 1, 0, 1, 1, 1, 1, 1, 0]


def _error(path):
  with pytest.raises(errors.UserError) as error:
    rlds_directory.load(path)
  assert '\n' not in str(error.value)
  return str(error.value)


def test_steps_that_cannot_be_used(tmp_path):
  walk = _walk(3)
  nest = {'eye': walk.observations, 'hand': walk.observations}
  nan = np.full(4, np.nan, np.float32)
  for i, (columns, message) in enumerate([
      ({'observation': nest}, 'observation is a nest of eye, hand; expected'),
      ({'reward': None}, 'expected reward too'),
      ({'reward': np.ones((4, 2), np.float32)}, 'reward has the shape (2,)'),
      ({'action': np.ones((4, 2), np.int64)}, 'action is int64[2]; expected'),
      ({'reward': nan}, '3 values of rewards are NaN or infinite'),
      ({'is_last': np.arange(4) == 1},
       'split train: episode 0: is_last is set in step 1 of 4'),
      ({'is_first': np.arange(4) == 2},
       'split train: episode 0: is_first is set in step 2 of 4'),
      ({'is_first': np.zeros(4, bool)}, 'there is no episode; 1 episodes are'),
  ]):
    path = _write(tmp_path / str(i), {'train': [_steps(walk, **columns)]})
    found = _error(path)
    assert found.startswith(f'{path}: ') and message in found, found


def test_directories_that_cannot_be_read(tmp_path, monkeypatch):
  assert 'dataset_info.json: there is no such file' in _error(str(tmp_path))
  path = _write(tmp_path / 'x', {'train': [_steps(_walk(i)) for i in (3, 4)]})
  shard, = [name for name in os.listdir(path) if 'tfrecord' in name]
  shard = os.path.join(path, shard)
  content = open(shard, 'rb').read()
  open(shard, 'wb').write(content[:-5])
  assert f'{path}: split train: TensorFlow Datasets cannot' in _error(path)
  open(shard, 'wb').close()
  assert 'contained only 0 elements' in _error(path)
  os.remove(shard)
  assert f'{path}: split train: TensorFlow Datasets cannot' in _error(path)
  open(os.path.join(path, 'features.json'), 'w').write('{')
  assert f'{path}: TensorFlow Datasets cannot read it' in _error(path)
  monkeypatch.setitem(sys.modules, 'tensorflow_datasets', None)
  found = _error(path)
  assert 'needs tensorflow_datasets' in found and '".[rlds]"' in found
