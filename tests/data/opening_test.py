"""Tests for opening data by name, our own directories among them."""

import json

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data import data_specs
from srdice_tf.data import opening
from tests import collected_data


def _message(name, columns='') -> str:
  with pytest.raises(errors.UserError) as info:
    data.open_data(str(name), columns)
  assert '\n' not in str(info.value)
  return str(info.value)


@pytest.mark.parametrize(
    'env_id', [collected_data.PENDULUM, collected_data.CARTPOLE]
)
def test_our_own_directory(tmp_path, env_id):
  collected_data.collect(tmp_path, env_id)
  found = data.open_data(str(tmp_path))
  assert found.dataset.num_transitions == 450
  assert found.dataset.checksum() == (
      collected_data.dataset(env_id).checksum()
  )
  assert found.env_id == env_id and found.bounds_known and not found.notes
  spec = environments.load(env_id).action_spec()
  np.testing.assert_array_equal(found.action_spec.maximum, spec.maximum)
  np.testing.assert_array_equal(found.action_spec.minimum, spec.minimum)
  assert isinstance(found.observation_spec, tf.TypeSpec)
  path = tmp_path / 'dataset.json'
  description = json.loads(path.read_text())
  description['status'] = 'collecting'
  description['num_transitions'] = 500
  path.write_text(json.dumps(description))
  assert '450 of 500 transitions are collected' in _message(tmp_path)


def test_names_of_no_kind(tmp_path):
  missing = _message(tmp_path / 'data.npz')
  assert missing.startswith(f'data={tmp_path}/data.npz: no such file')
  empty = _message(tmp_path)
  assert empty.startswith(f'data={tmp_path}: of no known kind; expected one of')
  for kind in opening.KINDS:
    assert kind.text in missing and kind.text in empty


def test_only_tables_have_columns(tmp_path):
  path = tmp_path / 'data.npz'
  np.savez(path)
  message = _message(path, 'state=s')
  assert message.startswith('columns=state=s: plays no part with')


def test_the_case_of_an_extension_plays_no_part(tmp_path):
  path = tmp_path / 'data.NPZ'
  path.write_bytes(b'')
  assert 'the file is empty' in _message(path)


def test_specs_of_data():
  floats = data.Dataset.from_episodes([
      data.Episode(np.zeros((3, 2)), [[0.0, 2.0], [1.0, -1.0]], [0, 0], True)
  ])
  spec = data_specs.observation_spec(floats)
  assert (spec.dtype, spec.shape) == (tf.float32, (2,))
  assert not hasattr(spec, 'minimum')
  spec = data_specs.action_spec(floats)
  np.testing.assert_array_equal(spec.minimum, [0, -1])
  np.testing.assert_array_equal(spec.maximum, [1, 2])
  numbers = data.Dataset.from_episodes([
      data.Episode([0, 7, 2], [1, 3], [0, 0], True)
  ])
  spec = data_specs.observation_spec(numbers)
  assert (spec.dtype, spec.shape) == (tf.int64, ())
  assert (spec.minimum, spec.maximum) == (0, 7)
  spec = data_specs.action_spec(numbers)
  assert (spec.minimum, spec.maximum) == (0, 3)
  frames = data.Dataset.from_episodes(
      [data.Episode(np.zeros((3, 5, 6), np.uint8), [1, 3], [0, 0], True)],
      frame_stack=4,
  )
  spec = data_specs.observation_spec(frames)
  assert (spec.dtype, spec.shape) == (tf.uint8, (5, 6, 4))
  assert spec.maximum == 255
