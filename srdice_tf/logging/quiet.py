"""Keeps third-party noise off the user's terminal, and only noise.

Binaries call `install` before they import TensorFlow, Reverb or gymnasium.
Most noise is written by C++ threads straight to file descriptor 2, so that is
where it is filtered: by `stderr_filter`, a process of its own.
"""

import atexit
import logging
import os
import pathlib
import select
import signal
import subprocess
import sys
from typing import NamedTuple
from typing import TextIO
import warnings

from srdice_tf.logging import signals
from srdice_tf.logging import stderr_filter

# Set to 1 to see everything.
VERBOSE_VARIABLE = 'SRDICE_TF_VERBOSE'
_ENVIRONMENT = {
    'TF_CPP_MIN_LOG_LEVEL': '1',  # Information; warnings stay.
    'PYGAME_HIDE_SUPPORT_PROMPT': '1',
}
_SYNC_SECONDS = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class _Installed(NamedTuple):
  pid: int
  pipe: tuple[int, int]  # Device and inode of the pipe behind descriptor 2.
  acknowledgements: int  # Descriptor with a byte for each sync.
  terminal: TextIO  # The stderr that the process was started with.
  process: subprocess.Popen


_installed: _Installed | None = None


def install() -> None:
  """Filters what this process and its children write to stderr from now on.

  Ctrl-C is one line from here on, in the imports too.
  """
  global _installed
  signals.install(terminal)
  if _installed or os.environ.get(VERBOSE_VARIABLE, '0') not in ('', '0'):
    return
  for name, value in _ENVIRONMENT.items():
    os.environ.setdefault(name, value)
  logging.getLogger('tensorflow').addFilter(_is_not_deprecation)
  # Of each policy that TF-Agents saves.
  warnings.filterwarnings('ignore', 'Encoding a StructuredValue with type')
  try:
    _installed = _start_filter()
  except OSError:
    return  # There is no stderr, or no room for a process: noise it is.
  atexit.register(sync)


def terminal() -> TextIO:
  """Returns the unfiltered stderr, which may be a terminal."""
  return _installed.terminal if _is_active() else sys.stderr


def sync() -> None:
  """Returns when all that was written to stderr so far is passed on."""
  if not _is_active() or os.getpid() != _installed.pid:
    return
  try:
    sys.stderr.flush()
    os.write(2, stderr_filter.SYNC)
    ready, _, _ = select.select(
        [_installed.acknowledgements], [], [], _SYNC_SECONDS
    )
    if ready:
      os.read(_installed.acknowledgements, 1)
  except (OSError, ValueError):
    pass  # The filter or stderr is gone: nothing is left to wait for.


def _is_active() -> bool:
  """Whether descriptor 2 still leads to the filter: a test may redirect it."""
  if _installed is None:
    return False
  try:
    return _identity(2) == _installed.pipe
  except OSError:
    return False


def _identity(descriptor: int) -> tuple[int, int]:
  status = os.fstat(descriptor)
  return status.st_dev, status.st_ino


def _start_filter() -> _Installed:
  real_stderr = os.dup(2)
  if sys.stderr is not None:
    sys.stderr.flush()
  pipe_read, pipe_write = os.pipe()
  ack_read, ack_write = os.pipe()
  # The filter inherits the blocked signals: Ctrl-C ends it through the end of
  # its input, after the last line.
  mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
  try:
    process = subprocess.Popen(
        [sys.executable, '-I', '-S', pathlib.Path(stderr_filter.__file__)],
        stdin=pipe_read,
        stdout=ack_write,
    )
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.close(pipe_read)
    os.close(ack_write)
  os.dup2(pipe_write, 2)
  os.close(pipe_write)
  stream = os.fdopen(
      real_stderr, 'w', encoding='utf-8', errors='replace', buffering=1
  )
  return _Installed(os.getpid(), _identity(2), ack_read, stream, process)


def _is_not_deprecation(record: logging.LogRecord) -> bool:
  """Whether a record of TensorFlow's logger is not about its own API's age."""
  return 'Instructions for updating' not in str(record.msg)
