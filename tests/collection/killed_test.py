"""Tests that nothing is lost or doubled if collectors and server are killed."""

import json
import socket
import time

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.data.sources import reverb_server
from srdice_tf.replay import reader
from srdice_tf.replay import row_codec
from srdice_tf.replay import servers
from srdice_tf.replay import writers
from tests import fixtures
from tests import warm_processes

_SIZE = 3000
_SERVER = """
import sys, time
from srdice_tf.replay import directories, servers
directory = directories.DatasetDirectory(sys.argv[1])
server = servers.ReplayServer(directory, port=int(sys.argv[2]))
print('ready', flush=True)
while True:
  server.adopt_checkpoint()
  time.sleep(0.02)
"""
# It stops in the middle, so that it cannot be done before it is killed.
_COLLECTOR = """
import sys, time
from srdice_tf import collection
from srdice_tf.replay import servers, writers
from tests import fixtures
observe = writers.BatchWriter.__call__
writers.BatchWriter.__call__ = lambda self, transition: (
    time.sleep(100) if self.call == 130 else observe(self, transition)
)
config = fixtures.config(int(sys.argv[2]), num_envs=10)
server = servers.RemoteServer(sys.argv[1], 10)
policy = fixtures.behaviour_policy(config)
collection.collect(config, policy, server, save_seconds=0.0)
"""


class _KilledError(BaseException):
  """Stands for SIGKILL: nothing after it is saved."""


def _free_port() -> int:
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    return probe.getsockname()[1]


def _serve(path, port) -> warm_processes.WarmProcess:
  process = warm_processes.WarmProcess('-c', _SERVER, path, port)
  assert process.stdout.readline() == 'ready\n'
  return process


def _kill(process):
  process.kill()
  process.communicate()


def _stored(path) -> int:
  """Returns how many transitions the server's checkpoint has."""
  try:
    text = (path / 'dataset.json').read_text()
  except FileNotFoundError:
    return 0
  return json.loads(text)['counts']['transitions']


def _collect_until_killed(config, remote, call):
  """Collects on, and is killed between two segments of one flush."""
  original = writers.BatchWriter._send

  def send(self, segment):
    if self.call > call and self._codec.steps(segment)[0, row_codec.SLOT] == 3:
      raise _KilledError
    original(self, segment)

  with pytest.MonkeyPatch.context() as patch, pytest.raises(_KilledError):
    patch.setattr(writers.BatchWriter, '_send', send)
    policy = fixtures.behaviour_policy(config)
    collection.collect(config, policy, remote, save_seconds=0.0)


def _contents(client):
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  stored = reader.read_rows(client, codec)
  return [part.tobytes() for part in stored]


def test_each_transition_is_there_once(tmp_path):
  """A collector dies, twice more in a flush; then the server dies."""
  port, config = _free_port(), fixtures.config(_SIZE, num_envs=10)
  address = f'localhost:{port}'
  server = _serve(tmp_path, port)
  collector = warm_processes.WarmProcess('-c', _COLLECTOR, address, _SIZE)
  end = time.monotonic() + 60
  while not _stored(tmp_path):
    assert collector.poll() is None and time.monotonic() < end
    time.sleep(0.01)
  _kill(collector)
  first = _stored(tmp_path)
  remote = servers.RemoteServer(address, timeout=10)
  for more in (50, 100):  # The second goes on from what the first left.
    _collect_until_killed(config, remote, call=first // 10 + more)
  _kill(server)
  assert first <= _stored(tmp_path) < _SIZE
  server = _serve(tmp_path, port)
  remote = servers.RemoteServer(address, timeout=10)
  policy = fixtures.behaviour_policy(config)
  collection.collect(config, policy, remote)
  with servers.ReplayServer() as whole:
    collection.collect(config, policy, whole)
    expected = _contents(whole.client)
  assert _contents(remote.client) == expected
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  data = reverb_server.load(remote.client, codec)
  assert data.num_transitions == _SIZE
  # The number drawn for an episode and the step are the id of a transition.
  states = data.states(tf.range(_SIZE)).numpy()
  assert len(np.unique(states[:, :2], axis=0)) == _SIZE
  _kill(server)
