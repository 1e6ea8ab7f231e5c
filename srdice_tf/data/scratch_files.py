"""Arrays in files that have no name: as large as they are, not in memory.

The system keeps of them in memory what it has room for. The files go with the
arrays, or with the process.
"""

import contextlib
import mmap
import os
import tempfile

import numpy as np

from srdice_tf import errors


class Scratch:
  """A place for such files."""

  def __init__(self, directory: str | None = None):
    """Makes nothing yet.

    Args:
      directory: where the files are; None for the system's place for them.
    """
    self._directory = directory

  @property
  def place(self) -> str:
    return self._directory or tempfile.gettempdir()

  def empty(self, shape, dtype) -> np.ndarray:
    """Returns an array of zeros that TensorFlow can share.

    Raises:
      UserError: if the disk has no room for it.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
      return np.zeros(shape, dtype)
    file = self.file()
    with self.guard():
      # All of it now: who writes to a mapped file that then finds the disk full
      # is killed by the system.
      os.posix_fallocate(file.fileno(), 0, size)
    return mapped(file, dtype, shape)

  def file(self):
    """Returns a new file, open for reading and writing."""
    with self.guard():
      return tempfile.TemporaryFile(prefix='srdice_', dir=self._directory)

  @contextlib.contextmanager
  def guard(self):
    """Lets a disk that is full or cannot be written to be one clear error."""
    try:
      yield
    except OSError as error:
      raise errors.at(
          self.place,
          f'no file for columns of the data ({error.strerror})',
          'expected a directory with room for them',
      ) from error


class Column:
  """An array that grows: rows are appended to a file, then mapped."""

  def __init__(self, scratch: Scratch):
    self._scratch = scratch
    self._file = scratch.file()
    self._shape, self._dtype = None, None
    self._size = 0

  def __len__(self) -> int:
    return self._size

  def append(self, rows: np.ndarray):
    """Adds rows [K, ...], all of one shape and type."""
    if self._shape is None:
      self._shape, self._dtype = rows.shape[1:], rows.dtype
    with self._scratch.guard():
      self._file.write(np.ascontiguousarray(rows).data)
    self._size += len(rows)

  def array(self) -> np.ndarray:
    """Returns all rows that were appended."""
    with self._scratch.guard():
      self._file.flush()
    shape = self._size, *(self._shape or ())
    if not self._size:
      return np.zeros(shape, self._dtype)
    return mapped(self._file, self._dtype, shape)


def mapped(file, dtype, shape) -> np.ndarray:
  """Returns the contents of a file as an array."""
  return np.memmap(file, dtype, 'r+', shape=tuple(shape))


def forget(array: np.ndarray):
  """Lets go of the memory that holds an array's file, which stays."""
  base = array
  while base is not None and not isinstance(base, mmap.mmap):
    base = getattr(base, 'base', None)
  if base is not None and hasattr(mmap, 'MADV_DONTNEED'):
    base.flush()
    base.madvise(mmap.MADV_DONTNEED)
