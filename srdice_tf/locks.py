"""A lock for a directory, so that one process works in it at a time.

The lock is the system's own (flock), on a file in the directory. It ends with
its process, even if that is killed, so that the next one can take over.
"""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import socket

from srdice_tf import errors

FILE_NAME = '.lock'
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class InUseError(errors.UserError):
  """Another process holds the lock; later it will not."""


class Lock:
  """A lock that is held until `release`."""

  def __init__(self, directory: str, field: str, shared: bool = False):
    """Takes the lock of a directory.

    Args:
      directory: to lock; must be there.
      field: the setting that names the directory, for messages.
      shared: whether the directory is only read. Any number of readers may
        hold the lock at once, if nobody holds it alone. A directory that is
        read-only has no file to lock, and nobody who writes.

    Raises:
      InUseError: if another process holds it; it is named.
    """
    self._file = None
    path = os.path.join(directory, FILE_NAME)
    access = os.O_RDONLY if shared else os.O_RDWR
    try:
      descriptor = os.open(path, access | os.O_CREAT, 0o666)
    except OSError as error:
      if shared and error.errno in _READ_ONLY:
        return
      reason = f'{error.strerror} ({path})'
      raise errors.UserError(field, directory, reason) from error
    self._file = os.fdopen(descriptor, 'r' if shared else 'r+')
    self._shared = shared
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
      fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
      reason = self._holder()
      self._file.close()
      raise InUseError(field, directory, reason) from None
    except OSError as error:
      self._file.close()
      raise errors.UserError(
          field,
          directory,
          f'its file system has no locks ({error.strerror}); choose another'
          ' directory',
      ) from error
    if not shared:
      self._write_holder()

  def release(self):
    """Gives the lock back; a second time does nothing."""
    if self._file is not None:
      if not self._shared:
        self._file.truncate(0)
      self._file.close()
      self._file = None

  def __enter__(self) -> 'Lock':
    return self

  def __exit__(self, *unused_error):
    self.release()

  def _write_holder(self):
    """Says who holds the lock, for those who do not get it."""
    now = datetime.datetime.now().astimezone()
    holder = {
        'process': os.getpid(),
        'host': socket.gethostname(),
        'since': now.isoformat(sep=' ', timespec='seconds'),
    }
    self._file.truncate(0)
    json.dump(holder, self._file)
    self._file.flush()

  def _holder(self) -> str:
    """Returns words for what the other process does."""
    if not self._shared:
      # If a reader's lock can be had, it is readers that are in the way.
      with contextlib.suppress(BlockingIOError):
        fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return 'is being read by another process; try again when it has read it'
    try:
      holder = json.load(self._file)
      who = 'process {process} on {host} since {since}'.format(**holder)
    except (ValueError, KeyError, TypeError):
      who = 'another process'  # It took the lock a moment ago.
    return f'is in use by {who}; wait for it or choose another directory'


def is_held(directory: str) -> bool:
  """Returns whether a process works in a directory; a guess for those who wait.

  A lock of a process that died is not held.
  """
  try:
    with open(os.path.join(directory, FILE_NAME)) as file:
      fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
  except BlockingIOError:
    return True
  except OSError:
    pass  # Nobody has made it yet, or nobody can.
  return False
