"""Starts programs as processes, without seconds of imports for each of them.

For tests of what a program does. That it starts at all, and what its imports
write, needs a Python of its own: `subprocess`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from tests import source_tree
from tests import warm_server

_KIND = socket.AF_UNIX, socket.SOCK_SEQPACKET
_SERVER = 'SRDICE_TESTS_SERVER'  # Has its name, for processes of tests.
_started = {}  # Keeps the stdin of the server open.


class WarmProcess:
  """What subprocess.Popen offers, as far as the tests need it.

  Attributes:
    pid: the number of the process.
    stdout: what it writes, as text.
    stderr: the same.
    returncode: None as long as it is not known to have ended.
  """

  def __init__(self, program, *arguments, cwd=source_tree.ROOT, env=None):
    """Starts a program.

    Args:
      program: path of its file, seen from `cwd`; or '-c'.
      *arguments: its arguments; code comes first after '-c'.
      cwd: its working directory.
      env: its environment variables; None for those of the tests.
    """
    message = {
        'program': str(program),
        'arguments': [str(argument) for argument in arguments],
        'directory': str(cwd),
        'variables': dict(os.environ if env is None else env),
    }
    pipes = [os.pipe() for _ in range(3)]
    descriptors = [write for _, write in pipes]
    start_server()
    with socket.socket(*_KIND) as connection:
      connection.connect(f'\0{os.environ[_SERVER]}')
      socket.send_fds(connection, [json.dumps(message).encode()], descriptors)
    for descriptor in descriptors:
      os.close(descriptor)
    self.stdout, self.stderr = (os.fdopen(read) for read, _ in pipes[:2])
    self._status = pipes[2][0]
    self.pid = self._number()
    self.returncode = None

  def _number(self) -> int:
    found = os.read(self._status, warm_server.NUMBER.size)
    if not found:
      raise RuntimeError('tests.warm_server has ended; its stderr says why')
    return warm_server.NUMBER.unpack(found)[0]

  def wait(self, timeout: float = 300.0) -> int:
    end = time.monotonic() + timeout
    while self.poll() is None:
      if time.monotonic() > end:
        self.kill()
        raise subprocess.TimeoutExpired(str(self.pid), timeout)
      time.sleep(0.01)
    return self.returncode

  def poll(self) -> int | None:
    if self.returncode is None:
      os.set_blocking(self._status, False)
      try:
        self.returncode = self._number()
        os.close(self._status)
      except BlockingIOError:
        pass
    return self.returncode

  def communicate(self, timeout: float = 300.0) -> tuple[str, str]:
    """Returns the rest of its output and of its errors, once it has ended."""
    texts = {}
    read = lambda name: texts.update({name: getattr(self, name).read()})
    names = 'stdout', 'stderr'
    threads = [threading.Thread(target=read, args=(name,)) for name in names]
    for thread in threads:
      thread.start()
    try:
      self.wait(timeout)
    finally:
      for thread, name in zip(threads, names):
        thread.join()
        getattr(self, name).close()
    return texts['stdout'], texts['stderr']

  def send_signal(self, number: int):
    if self.poll() is None:
      os.kill(self.pid, number)

  def kill(self):
    self.send_signal(signal.SIGKILL)

  def terminate(self):
    self.send_signal(signal.SIGTERM)


def run(program, *arguments, timeout=300.0, **options):
  """Runs a program to its end, as subprocess.run does."""
  process = WarmProcess(program, *arguments, **options)
  stdout, stderr = process.communicate(timeout)
  return subprocess.CompletedProcess(
      [program, *arguments], process.returncode, stdout, stderr
  )


def flags(values: dict) -> list[str]:
  """Returns arguments that set flags."""
  return [f'--{name}={value}' for name, value in values.items()]


def start_server():
  """Starts the server, unless there is one; it ends when this process does.

  Processes that this one starts afterwards share it.
  """
  if _SERVER in os.environ:
    return
  name = f'srdice_tests_{os.getpid()}'
  with socket.socket(*_KIND) as listener:
    listener.bind(f'\0{name}')
    listener.listen()
    _started[name] = subprocess.Popen(
        [sys.executable, '-m', 'tests.warm_server', str(listener.fileno())],
        cwd=source_tree.ROOT,
        pass_fds=[listener.fileno()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
  os.environ[_SERVER] = name
