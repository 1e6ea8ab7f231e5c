"""Tests for .npz and HDF5 files, written by numpy and h5py themselves."""

import pathlib
import pickle
import zipfile

import h5py
import numpy as np
import pytest

from srdice_tf import data
from srdice_tf import errors
from tests import collected_data

_EXTENSIONS = ['.npz', '.hdf5', '.h5']


def _write(path, arrays):
  if path.suffix == '.npz':
    np.savez_compressed(path, **arrays)
    return str(path)
  with h5py.File(path, 'w') as file:
    for name, array in arrays.items():
      file.create_dataset(name, data=array, compression='gzip')
    # What D4RL has besides.
    file['metadata/algorithm'] = 'SAC'
    file['infos/action_log_probs'] = np.zeros(len(arrays['rewards']))
  return str(path)


def _arrays(**fields):
  return {
      'observations': np.arange(8.0).reshape(4, 2),
      'actions': np.zeros((4, 1)),
      'rewards': np.ones(4),
      'terminals': np.array([0, 0, 0, 1]),
      **fields,
  }


def _message(path) -> str:
  with pytest.raises(errors.UserError) as info:
    data.open_data(str(path))
  message = str(info.value)
  assert message.startswith(f'{path}: ') and '\n' not in message
  return message


@pytest.mark.parametrize('extension', _EXTENSIONS)
@pytest.mark.parametrize(
    'env_id', [collected_data.PENDULUM, collected_data.CARTPOLE]
)
def test_round_trip(tmp_path, env_id, extension):
  dataset = collected_data.dataset(env_id)
  path = tmp_path / f'data{extension}'
  _write(path, collected_data.arrays(dataset))
  before = path.read_bytes(), path.stat().st_mtime_ns
  found = data.open_data(str(path))
  assert found.dataset.checksum() == dataset.checksum()
  assert found.notes == () and found.env_id == ''
  assert (path.read_bytes(), path.stat().st_mtime_ns) == before
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_without_next_observations(tmp_path, extension):
  dataset = collected_data.dataset(collected_data.PENDULUM)
  arrays = collected_data.arrays(dataset)
  del arrays['next_observations']
  found = data.open_data(_write(tmp_path / f'data{extension}', arrays))
  whole = dataset.to_episodes()
  kept = [
      data.Episode(e.observations[:-1], e.actions[:-1], e.rewards[:-1], False)
      for e in whole  # All of Pendulum's are cut.
  ]
  expected = data.Dataset.from_episodes(kept)
  assert found.dataset.checksum() == expected.checksum()
  assert found.notes == (
      f'the last steps of {len(whole)} episodes are left out: the observations'
      ' after them are not in the data',
  )


@pytest.mark.parametrize('extension', _EXTENSIONS[:2])
@pytest.mark.parametrize('fields, found', [
    ({'observations': np.zeros(4)}, 'observations are float64[4]; expected'),
    ({'rewards': np.ones(3)}, 'rewards has 3 rows, observations 4; expected'),
    ({'next_observations': np.zeros((4, 2), int)}, 'next_observations are int'),
    ({'rewards': np.array([0, 1, np.nan, 0])}, 'rewards has the value nan in'
     ' row 2; expected finite'),
    ({'observations': np.full((4, 2), np.nan)}, 'observations has the value'
     ' nan in row 0; expected finite'),
    ({name: array[:0] for name, array in _arrays().items()}, 'no steps'),
])
def test_what_is_refused(tmp_path, extension, fields, found):
  path = tmp_path / f'data{extension}'
  _write(path, _arrays(**fields))
  assert found in _message(path)


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_missing_keys(tmp_path, extension):
  path = tmp_path / f'data{extension}'
  _write(path, {'rewards': np.ones(3), 'dones': np.ones(3)})
  found = _message(path)
  assert 'there is no observations, only' in found and 'dones' in found


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_not_the_format(tmp_path, extension):
  path = tmp_path / f'data{extension}'
  path.write_bytes(b'')
  assert 'the file is empty' in _message(path)
  path.write_bytes(b'observations,actions\n' * 50)
  assert 'expected an' in _message(path)


@pytest.mark.parametrize('extension', _EXTENSIONS[:2])
def test_a_file_that_was_cut(tmp_path, extension):
  path = tmp_path / f'data{extension}'
  noise = np.random.default_rng(0).normal(size=(2000, 2))
  rest = {'actions': noise, 'rewards': noise[:, 0], 'terminals': np.ones(2000)}
  _write(path, {'observations': noise, **rest})
  whole = path.read_bytes()
  for share in (0.01, 0.5, 0.99):
    path.write_bytes(whole[: int(share * len(whole))])
    assert 'expected an' in _message(path)


@pytest.mark.parametrize('extension', _EXTENSIONS[:2])
def test_a_file_that_was_overwritten(tmp_path, extension):
  path = tmp_path / f'data{extension}'
  noise = np.random.default_rng(0).normal(size=(2000, 2))
  rest = {'actions': noise, 'rewards': noise[:, 0], 'terminals': np.ones(2000)}
  _write(path, {'observations': noise, **rest})
  content = bytearray(path.read_bytes())
  content[10_000:20_000] = b'\xff' * 10_000  # Within the observations.
  path.write_bytes(content)
  assert 'observations cannot be read' in _message(path)


def test_object_arrays_are_not_unpickled(tmp_path):
  path = tmp_path / 'data.npz'
  _write(path, _arrays(actions=np.array([{}, 'a', 1, None], object)))
  assert 'actions cannot be read: Object arrays cannot' in _message(path)


class _Hostile:
  """Writes a file when it is unpickled."""

  def __init__(self, path):
    self._path = path

  def __reduce__(self):
    return pathlib.Path.touch, (self._path,)


def test_hostile_pickles_are_not_loaded(tmp_path):
  harm = tmp_path / 'harm'
  hostile = pickle.dumps(_Hostile(harm))
  path = tmp_path / 'data.npz'
  path.write_bytes(hostile)
  assert 'is no .npz file' in _message(path)
  arrays = _arrays()
  del arrays['actions']
  _write(path, arrays)
  with zipfile.ZipFile(path, 'a') as archive:
    archive.writestr('actions', hostile)
  assert 'actions are of |S' in _message(path)
  _write(path, _arrays(rewards=np.array([_Hostile(harm)] * 4, object)))
  assert 'rewards cannot be read: Object arrays cannot' in _message(path)
  assert not harm.exists()
  pickle.loads(hostile)  # It would have done harm.
  assert harm.exists()


def test_hdf5_that_is_other_data(tmp_path):
  path = tmp_path / 'data.hdf5'
  with h5py.File(path, 'w') as file:
    file['episode_0/observations'] = np.zeros((2, 2))
  assert 'expected the directory of the Minari data set' in _message(path)
  with h5py.File(path, 'w') as file:
    file['observations/image'] = np.zeros((2, 2))
  assert 'observations is a group; expected an array' in _message(path)
  with h5py.File(path, 'w') as file:
    for name, array in _arrays().items():
      file[name] = array
    del file['rewards']
    file['rewards'] = ['a', 'b', 'c', 'd']
  assert 'rewards are of object; expected an array' in _message(path)
