"""Tests that damaged files of policies are refused in one line."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from tf_agents.specs import array_spec

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import weights

_VECTORS = array_spec.ArraySpec((3,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((1,), np.float32, -2.0, 2.0)
_STATES = array_spec.BoundedArraySpec((), np.int64, 0, 4)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 1)


@pytest.fixture(scope='module')
def network():
  return base.actor_network(_VECTORS, _TORQUES, seed=1)


@pytest.fixture(scope='module')
def whole(network, tmp_path_factory) -> bytes:
  path = str(tmp_path_factory.mktemp('whole') / 'weights.npz')
  weights.save(path, network)
  with open(path, 'rb') as file:
    return file.read()


def _npz(network, change) -> bytes:
  """Returns an archive of the network's weights, the third one changed."""
  arrays = [variable.numpy() for variable in network.variables]
  arrays[2] = change(arrays[2])
  file = io.BytesIO()
  np.savez(file, **{f'{i:02d}': array for i, array in enumerate(arrays)})
  return file.getvalue()


def _filled(value):
  return lambda array: np.full_like(array, value)


def _flipped(content: bytes, position: int) -> bytes:
  content = bytearray(content)
  content[position] ^= 255
  return bytes(content)


def _error(path, specs=(_VECTORS, _TORQUES)) -> str:
  with pytest.raises(errors.UserError) as error:
    loading.load(str(path), 'Pendulum-v1', *specs)
  message = str(error.value)
  assert str(path) in message and '\n' not in message
  assert 'expected' in message
  return message


def test_weights_that_cannot_be_read(whole, tmp_path):
  path = tmp_path / 'weights.npz'
  for content in (
      b'',
      b'no weights',
      whole[: len(whole) // 2],
      _flipped(whole, len(whole) // 2),
  ):
    path.write_bytes(content)
    assert 'cannot be read' in _error(path)


@pytest.mark.parametrize('seed', range(3))
def test_a_flipped_byte_is_never_a_traceback(whole, tmp_path, seed):
  """The header of an array, the directory of the archive: anywhere."""
  rng = np.random.default_rng(seed)
  path = tmp_path / 'weights.npz'
  ends = *range(120), *range(len(whole) - 400, len(whole))
  for position in rng.choice(ends, 40, replace=False):
    path.write_bytes(_flipped(whole, position))
    try:
      loading.load(str(path), 'Pendulum-v1', _VECTORS, _TORQUES)
    except errors.UserError as error:
      assert str(path) in str(error) and '\n' not in str(error)


def test_weights_that_are_no_finite_numbers(network, tmp_path):
  path = tmp_path / 'weights.npz'
  for change, message in (
      (_filled(np.nan), '02 has 65536 values that are NaN or infinite'),
      (_filled(np.inf), 'NaN or infinite'),
      (lambda array: array * 1e300, 'NaN or infinite'),
      (lambda array: array.astype(str), 'is of <U'),
      (lambda array: array.astype(complex), 'is of complex'),
      (lambda array: array.astype(object), 'allow_pickle=False'),
  ):
    path.write_bytes(_npz(network, change))
    assert message in _error(path)


def test_archives_without_arrays(tmp_path):
  path = tmp_path / 'weights.npz'
  with zipfile.ZipFile(path, 'w'):
    pass
  assert 'no arrays' in _error(path)
  with zipfile.ZipFile(path, 'w') as archive:
    archive.writestr('notes.txt', 'weights to come')
  assert 'expected real numbers' in _error(path)


def test_weights_of_another_network(network, tmp_path):
  path = tmp_path / 'weights.npz'
  path.write_bytes(_npz(network, lambda array: array[:, :7]))
  assert 'do not fit' in _error(path)


def test_files_of_no_known_kind(tmp_path):
  path = tmp_path / 'policy.pt'
  path.write_bytes(b'something')
  assert 'of no known kind' in _error(path)
  assert 'no such file' in _error(tmp_path / 'none.npz')


def test_tables_that_cannot_be_used(tmp_path):
  path = tmp_path / 'table.npy'
  table = np.array([[0.25, 0.75]] * 5)
  np.save(path, table)
  content = path.read_bytes()
  message = _error(path)
  assert 'float32[3]' in message and 'finite MDPs' in message
  for damaged in (b'', b'no table', content[:-9], content[:50]):
    path.write_bytes(damaged)
    assert 'cannot be read' in _error(path, (_STATES, _CHOICES))
  for array, message in (
      (table.astype(str), 'expected real numbers'),
      (table.astype(complex), 'expected real numbers'),
      (table.astype(object), 'allow_pickle'),
      (np.float64(0.5), 'shape ()'),
  ):
    np.save(path, array)
    assert message in _error(path, (_STATES, _CHOICES))


def test_finite_mdps_have_one_policy():
  for name in ('pretrained:foo', 'pretrained:', 'pretrained:separate'):
    with pytest.raises(errors.UserError, match=f'^policy={name}: .*one pol'):
      loading.load(name, 'FiveStateChain', _STATES, _CHOICES)
  loading.load('pretrained:best', 'FiveStateChain', _STATES, _CHOICES)


def test_damaged_cards(tmp_path):
  path = str(tmp_path / 'card.json')
  whole = weights.read_card(
      os.path.join(weights.directory('Pendulum-v1'), 'card.json')
  )
  assert whole['environment']['id'] == 'Pendulum-v1'
  for content in (
      '',
      'no card',
      '[]',
      '{}',
      json.dumps(whole)[:300],
      json.dumps({**whole, 'checkpoints': 3}),
      json.dumps({**whole, 'checkpoints': {'weak': {}}}),
  ):
    with open(path, 'w') as file:
      file.write(content)
    with pytest.raises(errors.UserError, match=f'{path}: damaged .*expected'):
      weights.read_card(path)
