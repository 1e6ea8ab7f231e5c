"""Tests that no client waits for ever for a server that dies or hangs."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.replay import clients
from srdice_tf.replay import reader
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import servers
from tests import fixtures
from tests import warm_processes

_TIMEOUT = 1.0
_SERVER = """
import sys, time
import numpy as np
from srdice_tf.replay import servers
server = servers.ReplayServer()
for i in range(40):
  server.client.insert('segments', np.zeros((500, 4000), np.uint8), 1.0)
server.client.put_metadata({'collector': 0, 'num_transitions': 1})
print(server.port, flush=True)
time.sleep(100)
"""


@pytest.fixture(params=[signal.SIGKILL, signal.SIGSTOP], ids=['dead', 'hung'])
def doomed(request):
  """A client that was answered, and a function that ends that."""
  process = warm_processes.WarmProcess('-c', _SERVER)
  port = int(process.stdout.readline())
  client = clients.ReplayClient(f'localhost:{port}', _TIMEOUT)
  yield client, lambda: process.send_signal(request.param)
  process.kill()
  process.communicate()


def _expect_ctrl_c_to_end(call):
  threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
  start = time.monotonic()
  with pytest.raises(KeyboardInterrupt):
    call()
  assert time.monotonic() - start < _TIMEOUT


def test_every_call_ends(doomed):
  client, end = doomed
  samples = client.sample_all(reverb_tables.SEGMENTS)
  next(samples)
  other_samples = client.sample_all(reverb_tables.SEGMENTS)
  next(other_samples)
  end()
  _expect_ctrl_c_to_end(lambda: list(other_samples))
  for call in (
      lambda: list(samples),
      client.sizes,
      client.checkpoint,
      client.metadata,
      lambda: client.delete(reverb_tables.SEGMENTS, [1]),
      lambda: client.insert(reverb_tables.SEGMENTS, np.zeros((2, 3)), 1.0),
      lambda: client.put_metadata({'collector': 1}),
      lambda: clients.ReplayClient(client.address, _TIMEOUT),
  ):
    start = time.monotonic()
    with pytest.raises(
        clients.NoAnswerError,
        match=f'^reverb_address={client.address}: .* does not answer',
    ) as error:
      call()
    assert time.monotonic() - start < 4 * _TIMEOUT + 1.0
    assert '\n' not in str(error.value)


def test_a_save_may_take_longer_than_the_timeout(monkeypatch):
  with servers.ReplayServer() as server:
    client = clients.ReplayClient(f'localhost:{server.port}', 0.1)

    saved = []

    def slow():
      time.sleep(0.5)
      saved.append(True)

    monkeypatch.setattr(client.reverb, 'checkpoint', slow)
    client.checkpoint()
    assert saved == [True]


def test_a_save_that_another_one_removed_is_repeated(monkeypatch):
  with servers.ReplayServer() as server:
    failures = ['No such file or directory'] * 2
    attempts = []

    def checkpoint():
      attempts.append(True)
      if failures:
        raise RuntimeError(failures.pop())

    monkeypatch.setattr(server.client.reverb, 'checkpoint', checkpoint)
    server.client.checkpoint()
    assert len(attempts) == 3
    failures = ['No space left on device'] * 10
    with pytest.raises(errors.UserError, match='not be written .No space'):
      server.client.checkpoint()


def test_reading_says_how_far_it_is():
  config = fixtures.config(40)
  with servers.ReplayServer() as server:
    collection.collect(config, fixtures.behaviour_policy(config), server)
    seen = []
    codec = collection.codec_of(environments.load(config.env_id))
    reader.read_streams(server.client, codec, 0, lambda *at: seen.append(at))
    assert seen == [(i + 1, config.num_envs) for i in range(config.num_envs)]
