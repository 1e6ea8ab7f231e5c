"""Tests for data sets on disk."""

import json
import os
import shutil

import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.replay import directory as directory_lib
from srdice_tf.replay import server as server_lib
from srdice_tf.replay import storage
from tests import fixtures


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
  path = tmp_path_factory.mktemp('data') / 'finished'
  config = fixtures.config(100)
  directory = directory_lib.DatasetDirectory(str(path))
  server = server_lib.ReplayServer(directory, 100)
  collection.collect(config, fixtures.behaviour_policy(config), server)
  server.stop()
  return path


@pytest.fixture
def copy(finished, tmp_path):
  return shutil.copytree(finished, tmp_path / 'copy')


def _load(path):
  env = environments.load(fixtures.COUNTER)
  return storage.load_dataset(
      str(path),
      collection.codec_of(env),
      environments.description(fixtures.COUNTER),
  )


def _checkpoint_file(path, name='chunks.tfrecord'):
  (checkpoint,) = os.listdir(path / 'replay')
  return path / 'replay' / checkpoint / name


def test_data_set_describes_itself(finished):
  description = json.loads((finished / 'dataset.json').read_text())
  assert description['environment'] == {'id': fixtures.COUNTER}
  assert description['setting'] == 'hard'
  assert description['status'] == 'complete'
  assert description['counts']['transitions'] == 100
  assert description['versions']['dm-reverb'] == '0.14.0'
  assert 'chunks.tfrecord' in description['checksums']


def test_reads_back(finished):
  dataset = _load(finished)
  assert dataset.num_transitions == 100
  # The counter's reward is the step that it arrives at.
  next_states = dataset.next_states(tf.range(100)).numpy()
  assert (dataset.rewards.numpy() == next_states[:, 1]).all()


def test_reading_changes_nothing(copy):
  before = (copy / 'dataset.json').read_bytes()
  _load(copy)
  assert (copy / 'dataset.json').read_bytes() == before
  assert _load(copy).num_transitions == 100


def _expect_error(path, match):
  with pytest.raises(errors.UserError, match=match) as error:
    _load(path)
  assert '\n' not in str(error.value)


def test_truncated_checkpoint(copy):
  file = _checkpoint_file(copy)
  file.write_bytes(file.read_bytes()[:-10])
  _expect_error(copy, 'chunks.tfrecord: cut short or edited')


def test_edited_checkpoint(copy):
  file = _checkpoint_file(copy, 'items.tfrecord')
  data = bytearray(file.read_bytes())
  data[len(data) // 2] ^= 1
  file.write_bytes(bytes(data))
  _expect_error(copy, 'items.tfrecord: cut short or edited')


def test_missing_checkpoint(copy):
  _checkpoint_file(copy).unlink()
  _expect_error(copy, 'chunks.tfrecord: missing')


def test_edited_json(copy):
  (copy / 'dataset.json').write_text('{')
  _expect_error(copy, 'dataset.json: not readable')


def test_no_data_set(tmp_path):
  _expect_error(tmp_path, 'there is no dataset.json')


def test_other_environment(finished):
  env = environments.load('Pendulum-v1')
  with pytest.raises(errors.UserError, match='id TestCounter-v0.*Pendulum-v1'):
    storage.load_dataset(
        str(finished),
        collection.codec_of(env),
        environments.description('Pendulum-v1'),
    )


def test_other_preprocessing_is_named(tmp_path):
  description = {
      'status': 'complete',
      'environment': {**environments.description('ALE/Pong-v5')},
  }
  wanted = {**description['environment'], 'frame_skip': 2}
  with pytest.raises(errors.UserError, match='frame_skip 4.* 2'):
    storage.check('d', description, wanted)


def test_torn_newer_checkpoint_is_ignored(copy):
  """A process killed while it saves leaves a newer, incomplete one."""
  torn = copy / 'replay' / '9999-01-01T00:00:00+00:00'
  torn.mkdir()
  (torn / 'chunks.tfrecord').write_bytes(b'torn')
  assert _load(copy).num_transitions == 100
  assert not torn.exists()


def test_unwritable_directory(tmp_path):
  (tmp_path / 'file').write_text('')
  directory = directory_lib.DatasetDirectory(str(tmp_path / 'file' / 'data'))
  with pytest.raises(errors.UserError, match='--dataset_dir'):
    server_lib.ReplayServer(directory)
