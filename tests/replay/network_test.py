"""Tests that a server is for this machine only, unless it is opened."""

import socket

import pytest
import reverb

from srdice_tf.agents import experience_server
from srdice_tf.replay import network
from srdice_tf.replay import servers


def _devices(port):
  return [
      listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
      for listener in network._listeners(port)
  ]


def _address():
  """Returns an address of this machine that others use; None without any."""
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    try:
      probe.connect(('192.0.2.1', 1))  # Sends nothing.
    except OSError:
      return None
    return probe.getsockname()[0]


def _is_reached(host, port):
  try:
    socket.create_connection((host, port), timeout=1.0).close()
    return True
  except OSError:
    return False


def test_servers_listen_to_this_machine():
  with servers.ReplayServer() as server:
    assert set(_devices(server.port)) == {b'lo\0'}
    # Their own client has connected by now.
    assert network.is_local(server.port)
    assert _is_reached('localhost', server.port)
    assert not (_address() and _is_reached(_address(), server.port))
  server = experience_server.ExperienceServer(
      lambda name: reverb.Table.queue(name, 1)
  )
  assert set(_devices(server._server.port)) == {b'lo\0'}
  server.stop()


def test_a_server_can_be_opened():
  with servers.ReplayServer(host=network.EVERYWHERE) as server:
    assert set(_devices(server.port)) == {b''}
    assert not network.is_local(server.port)
    assert _is_reached(_address() or 'localhost', server.port)


def test_a_system_that_cannot_says_so(monkeypatch, caplog):
  monkeypatch.setattr(socket, 'SO_BINDTODEVICE', 9999)
  with servers.ReplayServer() as server:
    port = server.port
  assert caplog.messages == [
      f'port {port}, a replay server without a password, is open to the'
      ' network: this system cannot keep it to this machine.'
  ]


@pytest.mark.parametrize('port', [0, 70000])
def test_a_port_on_which_nobody_listens(port):
  assert not network.is_local(port)
