"""Tests of data that a replay server holds and that are not all read."""

import errno
import os
import signal
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data import opening
from srdice_tf.data import scratch_files
from srdice_tf.data import streamed
from srdice_tf.data.sources import collected
from srdice_tf.data.sources import private_server
from srdice_tf.replay import clients
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from tests import fixtures
from tests.data import cut_segments
from tests.data import warm_data_server

_SIZE = 2100  # Several segments for each of the four environments.
_TIMEOUT = 2.0


@pytest.fixture(scope='module')
def path(tmp_path_factory):
  path = str(tmp_path_factory.mktemp('data') / 'counter')
  config = fixtures.config(_SIZE, num_envs=2)
  with servers.ReplayServer(directories.DatasetDirectory(path)) as server:
    collection.collect(config, fixtures.behaviour_policy(config), server)
  return path


def _codec():
  return collection.codec_of(environments.load(fixtures.COUNTER))


@pytest.fixture(scope='module')
def kept(path):
  return collected.load(path, _codec())


def test_a_directory_is_served_by_another_process(path, kept):
  with private_server.directory(path, _codec(), None, 30.0) as stream:
    server = _server_of(stream)
    assert os.getpgid(server) != os.getpgid(0)
    # Those who end a whole job mean this process, which may have to save.
    for number in (signal.SIGINT, signal.SIGTERM):
      os.kill(server, number)
    assert stream.num_transitions == _SIZE
    assert stream.num_initial_states == kept.num_initial_states
    for name in ('rewards', 'not_done', 'episodes', 'steps'):
      np.testing.assert_array_equal(getattr(stream, name), getattr(kept, name))
    seen = np.zeros(_SIZE, int)
    for block in stream.each_block():
      seen[block.index] += 1
      index = tf.constant(block.index)
      np.testing.assert_array_equal(
          block.rows[block.positions], kept.states(index)
      )
      np.testing.assert_array_equal(
          block.rows[block.positions + 1], kept.next_states(index)
      )
      np.testing.assert_array_equal(
          block.actions, tf.gather(kept.actions, index)
      )
    np.testing.assert_array_equal(seen, 1)
    window, rng = stream.sampler(), tf.random.Generator.from_seed(0)
    rewards = [window.sample(64, rng).rewards for _ in range(20)]
    assert set(np.ravel(rewards)) <= set(kept.rewards.numpy())
    threads = threading.active_count()
    stream.close()
    assert threading.active_count() < threads


def test_a_dead_server_is_one_line(path):
  with private_server.directory(path, _codec(), None, _TIMEOUT) as stream:
    window, rng = stream.sampler(), tf.random.Generator.from_seed(0)
    draw = tf.function(lambda: window.sample(512, rng).rewards)
    address = stream._source._source._rows._client.address
    with pytest.raises(clients.NoAnswerError, match='does not answer') as error:
      with window.guard():  # Before anything is read.
        draw()
        os.kill(_server_of(stream), signal.SIGKILL)
        start = time.monotonic()
        for _ in range(10_000):
          draw()
    assert time.monotonic() - start < 4 * _TIMEOUT + 5.0
    assert address in str(error.value) and '\n' not in str(error.value)
    assert len(list(stream.each_block())) > 4  # From the copy.
    stream.close()


def _server_of(stream) -> int:
  """Returns the process whose port the stream's client knows."""
  port = int(stream._source._source._rows._client.address.rpartition(':')[2])
  children = f'/proc/{os.getpid()}/task/{os.getpid()}/children'
  with open(children) as file:
    found = [int(pid) for pid in file.read().split()]
  (server,) = (pid for pid in found if _listens(pid, port))
  return server


def _listens(pid: int, port: int) -> bool:
  with open(f'/proc/{pid}/cmdline') as file:
    return 'data_server' in file.read()


def test_data_that_cannot_be_opened_are_one_line(tmp_path, monkeypatch):
  warm_data_server.use(monkeypatch)
  with pytest.raises(errors.UserError, match='no such file') as error:
    with private_server.data(str(tmp_path / 'x.npz'), '', [], None, 5.0):
      pass
  assert '\n' not in str(error.value)


def test_any_data_can_be_streamed(tmp_path, monkeypatch):
  warm_data_server.use(monkeypatch)
  rng = np.random.default_rng(0)
  arrays = {
      'observations': rng.normal(size=(1300, 3)).astype(np.float32),
      'actions': rng.uniform(-1, 1, (1300, 2)).astype(np.float32),
      'rewards': rng.normal(size=1300).astype(np.float32),
      'terminals': rng.random(1300) < 0.02,
      'timeouts': np.arange(1300) % 50 == 49,
  }
  path = str(tmp_path / 'logs.npz')
  np.savez(path, **arrays)
  kept = opening.open_data(path)
  with private_server.data(path, '', [], None, 30.0) as found:
    assert found.action_spec == kept.action_spec
    stream = found.dataset
    np.testing.assert_array_equal(stream.rewards, kept.dataset.rewards)
    np.testing.assert_array_equal(stream.steps, kept.dataset.steps)
    for block in stream.each_block():
      np.testing.assert_array_equal(
          block.rows[block.positions],
          kept.dataset.states(tf.constant(block.index)),
      )


def test_missing_and_changed_segments_are_found(kept):
  source = cut_segments.CutSegments(kept, longest=50)
  stream = streamed.StreamedDataset(source)
  one = source.pieces.pop(3)
  with pytest.raises(errors.UserError, match='missing or stored twice'):
    streamed.StreamedDataset(source)
  source.pieces.append(one._replace(call=one.call + 1))
  stream._source._has_room = False  # Not from the copy.
  with pytest.raises(errors.UserError, match='have changed'):
    list(stream.each_block())


@pytest.mark.parametrize('has_room', [True, False])
def test_only_the_first_pass_reads_where_there_is_room(kept, has_room):
  source = cut_segments.CutSegments(kept, longest=50)
  source.num_bytes = 0 if has_room else 2**62
  stream = streamed.StreamedDataset(source)
  first, second = (
      np.concatenate([block.index for block in stream.each_block()])
      for _ in range(2)
  )
  np.testing.assert_array_equal(np.sort(second), np.arange(_SIZE))
  assert np.array_equal(first, second) == has_room  # A file keeps its order.


def test_a_disk_that_fills_up_ends_the_copy_not_the_pass(kept, monkeypatch):
  source = cut_segments.CutSegments(kept, longest=50)
  stream = streamed.StreamedDataset(source)
  stream._source._is_whole = False
  monkeypatch.setattr(stream._source, '_file', open('/dev/full', 'wb'))
  for _ in range(2):
    found = np.concatenate([block.index for block in stream.each_block()])
    np.testing.assert_array_equal(np.sort(found), np.arange(_SIZE))
  assert not stream._source._has_room


def test_checksum_is_of_the_contents(kept):
  first = cut_segments.CutSegments(kept, longest=50)
  same = streamed.StreamedDataset(first).checksum()
  assert streamed.StreamedDataset(first).checksum() == same
  first.pieces[0].rewards[1] += 1.0
  assert streamed.StreamedDataset(first).checksum() != same


def test_columns_in_files():
  place = scratch_files.Scratch()
  array = place.empty((3, 2), np.float32)
  array[:] = np.arange(6).reshape(3, 2)
  scratch_files.forget(array)
  np.testing.assert_array_equal(array, np.arange(6).reshape(3, 2))
  column = scratch_files.Column(place)
  for rows in (np.zeros((2, 3)), np.zeros((0, 3)), np.ones((1, 3))):
    column.append(rows)
  np.testing.assert_array_equal(column.array(), [[0] * 3, [0] * 3, [1] * 3])


def test_a_full_disk_is_one_clear_line(tmp_path, monkeypatch):
  """Else the system kills who writes to a mapped file (SIGBUS)."""
  place = scratch_files.Scratch(str(tmp_path))
  line = f'^{tmp_path}: no file for columns .*No space left'

  def allocate(descriptor, begin, size):
    assert (begin, size) == (0, 24)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  monkeypatch.setattr(os, 'posix_fallocate', allocate)
  with pytest.raises(errors.UserError, match=line):
    place.empty((3, 2), np.float32)
  column = scratch_files.Column(place)
  column._file = open('/dev/full', 'wb')
  column.append(np.zeros((2, 3)))
  with pytest.raises(errors.UserError, match=line):
    column.array()
  missing = scratch_files.Scratch(str(tmp_path / 'missing'))
  with pytest.raises(errors.UserError, match='No such file or directory'):
    missing.file()
