"""Workers of executors that need not import the libraries first.

For tests of what runs in workers come to. That a worker starts at all needs a
Python of its own.
"""

import os
import subprocess
import types

from tests import warm_processes

_WORKER = """
import os
os.setsid()
os.dup2(os.open({stdin!r}, os.O_RDONLY), 0)
os.dup2(os.open({log!r}, os.O_WRONLY | os.O_APPEND), 2)
from srdice_tf.experiments import worker
worker.main(os.getppid())
"""


class _WarmWorker:
  """A worker, as executors start it."""

  def __init__(self, command, stdin, stdout, stderr, env, start_new_session):
    assert command[1:3] == ['-m', 'srdice_tf.experiments.worker']
    assert stdin == stdout == subprocess.PIPE and start_new_session
    read, write = os.pipe()
    code = _WORKER.format(
        stdin=f'/proc/{os.getpid()}/fd/{read}', log=stderr.name
    )
    self._process = warm_processes.WarmProcess('-c', code, env=env)
    self.pid = self._process.pid
    self.stdin = os.fdopen(write, 'wb')
    self.stdout = os.fdopen(os.dup(self._process.stdout.fileno()), 'rb', 0)
    self.poll, self.wait = self._process.poll, self._process.wait
    self.terminate = self._process.terminate


# What executors have in the place of `subprocess`.
SUBPROCESS = types.SimpleNamespace(Popen=_WarmWorker, PIPE=subprocess.PIPE)
