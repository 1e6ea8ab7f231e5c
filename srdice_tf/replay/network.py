"""Starts Reverb servers that only this machine can reach.

Reverb listens on all interfaces and asks for no password. It has no setting for
that, so this binds its sockets to the loopback device once it listens.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import logging
import os
import socket
import stat

import reverb

LOCALHOST, EVERYWHERE = 'localhost', '0.0.0.0'
HOSTS = LOCALHOST, EVERYWHERE
_LOOPBACK = b'lo\0'


def start_server(
    tables: Sequence[reverb.Table],
    port: int | None = None,
    checkpointer=None,
    host: str = LOCALHOST,
) -> reverb.Server:
  """Starts a Reverb server.

  Args:
    tables: of the server.
    port: to listen on; default: any free one.
    checkpointer: of the server; default: into a temporary directory.
    host: LOCALHOST or EVERYWHERE, from where it can be reached.
  """
  server = reverb.Server(tables, port, checkpointer)
  if host == LOCALHOST and not _keep_local(server.port):
    logging.warning(
        'port %d, a replay server without a password, is open to the network:'
        ' this system cannot keep it to this machine.',
        server.port,
    )
  return server


def is_local(port: int) -> bool:
  """Returns whether only this machine can reach a server of this process."""
  found = [_device(listener) for listener in _listeners(port)]
  return bool(found) and all(device == _LOOPBACK for device in found)


def _keep_local(port: int) -> bool:
  for listener in _listeners(port):
    try:
      listener.setsockopt(
          socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _LOOPBACK
      )
    except OSError:  # Linux before 5.7 asks for a privilege.
      return False
  return is_local(port)


def _device(listener: socket.socket) -> bytes:
  return listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)


def _listeners(port: int) -> Iterator[socket.socket]:
  """Yields the sockets of this process that listen on a port."""
  for name in os.listdir('/proc/self/fd'):
    try:
      if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
        continue
      found = socket.socket(fileno=os.dup(int(name)))
    except OSError:
      continue  # Closed by now.
    with found:
      is_listening = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
      is_internet = found.family in (socket.AF_INET, socket.AF_INET6)
      if is_listening and is_internet and found.getsockname()[1] == port:
        yield found
