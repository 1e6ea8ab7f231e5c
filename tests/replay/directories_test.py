"""Tests for data sets on disk."""

import json
import os
import shutil

import pytest
import tensorflow as tf

from srdice_tf import checksums
from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data.sources import collected
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from tests import fixtures

_TIME = '9999-01-01T00:00:00.5+00:00'


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
  path = tmp_path_factory.mktemp('data') / 'finished'
  config = fixtures.config(100)
  directory = directories.DatasetDirectory(str(path))
  server = servers.ReplayServer(directory, 100)
  collection.collect(config, fixtures.behaviour_policy(config), server)
  server.stop()
  return path


@pytest.fixture
def copy(finished, tmp_path):
  return shutil.copytree(finished, tmp_path / 'copy')


def _load(path):
  env = environments.load(fixtures.COUNTER)
  return collected.load(
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


def _edited(description, **fields):
  return json.dumps({**description, **fields})


def _without(description, name):
  return json.dumps({k: v for k, v in description.items() if k != name})


def test_damaged_description(copy):
  """Of each the line names the file, what is wrong and what to do."""
  file = copy / 'dataset.json'
  description = json.loads(file.read_text())
  counts = description['counts']
  for content, match in (
      ('', 'not readable as JSON'),
      ('{', 'not readable as JSON'),
      (file.read_text()[:-40], 'not readable as JSON'),
      ('[' * 100_000, 'not readable as JSON'),
      ('[1, 2]', 'holds a list'),
      ('{}', 'no field format'),
      (_edited(description, format=1), 'format is 1'),
      *(
          (_without(description, name), f'no field {name}')
          for name in ('status', 'counts', 'checkpoint', 'checksums')
      ),
      (_edited(description, status='done'), "status is 'done'"),
      (_edited(description, status='collecting'),
       'status is collecting, but it has all 100'),
      (_edited(description, counts=[1]), 'counts is'),
      (_edited(description, counts={'transitions': 'x'}), 'counts is'),
      (_edited(description, checkpoint='../elsewhere'), 'checkpoint is'),
      (_edited(description, environment=None), 'names no environment'),
      (_edited(description, checksums={}), 'checksums lack .*chunks.tfrecord'),
      (_edited(description, counts={**counts, 'transitions': 99}),
       'edited, its transitions is 99, that of the data 100'),
      (_edited(description, counts={**counts, 'episodes': 3}),
       'edited, its episodes is 3'),
      (_edited(description, counts={**counts, 'mean_reward': 0.5}),
       'edited, its mean_reward is 0.5'),
      (_edited(description, setting='easy'), "edited, its setting is 'easy'"),
      (_edited(description, num_transitions=200), 'its num_transitions is 200'),
  ):
    file.write_text(content)
    _expect_error(copy, f'dataset.json: .*{match}.*; put back')
    assert _checkpoint_file(copy).exists()


def test_no_data_set(tmp_path):
  _expect_error(tmp_path, 'there is no dataset.json')


def test_other_environment(finished):
  env = environments.load('Pendulum-v1')
  with pytest.raises(errors.UserError, match='id TestCounter-v0.*Pendulum-v1'):
    collected.load(
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
    collected.check_description('d', description, wanted)


def _server(path):
  directory = directories.DatasetDirectory(str(path))
  return servers.ReplayServer(directory, 100)


def _reload(path):
  """Opens a data set to write to it, as a collector would."""
  with _server(path) as server:
    return server.counts['transitions']


def test_a_checkpoint_without_description_stays(copy):
  (copy / 'dataset.json').unlink()
  for work in (_load, _reload):
    with pytest.raises(errors.UserError, match='missing.*put .* back') as error:
      work(copy)
    assert _checkpoint_file(copy).parent.name in str(error.value)
  assert _checkpoint_file(copy).exists()


@pytest.mark.parametrize(
    'where', ['replay/backup', 'unfinished/mine', f'replay/{_TIME}']
)
def test_what_others_left_stays(copy, where):
  """Reverb itself removes all but the newest in the directory it writes to."""
  file = copy / where / 'file'
  file.parent.mkdir(parents=True)
  file.write_text('precious')
  for work in (_load, _reload):
    with pytest.raises(errors.UserError, match='untouched; move') as error:
      work(copy)
    assert str(error.value).startswith(f'{copy / where}: ')
  assert file.read_text() == 'precious'
  shutil.rmtree(file.parent)
  assert _load(copy).num_transitions == _reload(copy) == 100


def test_reading_leaves_what_a_killed_process_left(copy):
  torn = copy / 'unfinished' / _TIME
  torn.mkdir(parents=True)
  (torn / 'chunks.tfrecord').write_bytes(b'torn')
  assert _load(copy).num_transitions == 100
  assert torn.exists()
  # Who may write removes it: only this program writes there.
  assert _reload(copy) == 100
  assert not torn.exists()


class _Killed(BaseException):
  """Stands for SIGKILL."""


@pytest.mark.parametrize(
    'module, name, expected',
    [
        (servers.ReplayServer, 'adopt_checkpoint', 40),
        (checksums, 'of_directory', 40),
        (os, 'replace', 40),
        (shutil, 'rmtree', 40),
    ],
)
def test_killed_while_it_saves(
    tmp_path, monkeypatch, module, name, expected
):
  """Whatever moment it is, one data set is there, and nothing in the way."""
  config = fixtures.config(40)
  collected = fixtures.behaviour_policy(config)
  with _server(tmp_path) as server:
    collection.collect(fixtures.config(20), collected, server)
    older = server.counts['transitions']
    with monkeypatch.context() as patch, pytest.raises(_Killed):

      def killed(*unused_args, **unused_options):
        raise _Killed

      patch.setattr(module, name, killed)
      other = fixtures.config(20, collector=1)
      collection.collect(other, collected, server)
  assert older == 20
  with _server(tmp_path) as server:
    assert server.counts['transitions'] == expected
    server.adopt_checkpoint()
  assert _load(tmp_path).num_transitions == 40
  assert len(os.listdir(tmp_path / 'replay')) == 1
  assert not (tmp_path / 'unfinished').exists()


def test_two_may_read_at_once_but_only_one_may_write(copy):
  with _server(copy):
    for work in (_load, _reload):
      with pytest.raises(
          errors.UserError,
          match=f'in use by process {os.getpid()} on .* since 20',
      ):
        work(copy)
  directory = directories.DatasetDirectory(str(copy))
  with directory.lock(shared=True):
    assert _load(copy).num_transitions == 100
    with pytest.raises(errors.UserError, match='is being read by another'):
      _reload(copy)
  assert _reload(copy) == 100


def test_unwritable_directory(tmp_path):
  (tmp_path / 'file').write_text('')
  directory = directories.DatasetDirectory(str(tmp_path / 'file' / 'data'))
  with pytest.raises(errors.UserError, match='^dataset_dir=.*: Not a dir'):
    servers.ReplayServer(directory)
