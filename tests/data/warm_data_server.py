"""Servers of data for tests that stream, without seconds of imports for each.

That such a server starts at all, and in a group of its own, needs a Python of
its own: `streamed_test` has it.
"""

import os
import subprocess
import types

from srdice_tf.data.sources import private_server
from tests import warm_processes

_SERVER = """
import os
os.dup2(os.open({stdin!r}, os.O_RDONLY), 0)
from srdice_tf.data.sources import data_server
data_server.main(os.getppid())
"""


class _WarmServer:
  """What private_server needs of subprocess.Popen."""

  def __init__(self, command, stdin, stdout, process_group, env):
    assert command[1:3] == ['-m', private_server._MODULE]
    assert stdin == stdout == subprocess.PIPE and process_group == 0
    self._read, write = os.pipe()
    code = _SERVER.format(stdin=f'/proc/{os.getpid()}/fd/{self._read}')
    self._process = warm_processes.WarmProcess('-c', code, env=env)
    self.pid = self._process.pid
    self.stdin = os.fdopen(write, 'wb')
    self.stdout = os.fdopen(os.dup(self._process.stdout.fileno()), 'rb')
    self.kill = self._process.kill

  def wait(self) -> int:
    os.close(self._read)
    return self._process.wait()


def use(monkeypatch):
  """Lets private servers be warm ones."""
  stand_in = types.SimpleNamespace(Popen=_WarmServer, PIPE=subprocess.PIPE)
  monkeypatch.setattr(private_server, 'subprocess', stand_in)
