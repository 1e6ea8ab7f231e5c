"""Keeps large arrays in memory once: shared with TensorFlow, then freed."""

from collections.abc import Iterable
import ctypes

import numpy as np
import tensorflow as tf

_ALIGNMENT = 64  # Bytes; TensorFlow aborts if an array is aligned to less.


def aligned_empty(shape, dtype) -> np.ndarray:
  """Returns an array that TensorFlow can use without a copy."""
  size = int(np.prod(shape)) * np.dtype(dtype).itemsize
  memory = np.empty(size + _ALIGNMENT, np.uint8)
  begin = -memory.ctypes.data % _ALIGNMENT
  return memory[begin : begin + size].view(dtype).reshape(shape)


def as_tensor(array: np.ndarray) -> tf.Tensor:
  """Returns a tensor that shares the array if it is aligned, else a copy."""
  if array.dtype == bool:  # DLPack does not have it.
    return tf.constant(array)
  flags = array.flags
  is_fit = flags.c_contiguous and flags.writeable and array.size
  if not is_fit or array.ctypes.data % _ALIGNMENT:
    given, array = array, aligned_empty(array.shape, array.dtype)
    array[...] = given
  return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def concat(parts: Iterable[tf.Tensor], size: int) -> tf.Tensor:
  """Returns the parts, `size` rows in all, one after the other.

  Each part is copied as it comes; tf.concat would keep all parts and the result
  in memory.
  """
  joined, filled = None, 0
  for part in parts:
    if len(part) == size:
      return part
    if joined is None:
      shape = size, *part.shape[1:]
      joined = aligned_empty(shape, part.dtype.as_numpy_dtype)
    joined[filled : filled + len(part)] = part
    filled += len(part)
  return as_tensor(joined)


def give_back():
  """Returns freed memory to the system, which the C library would keep."""
  trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)
  if trim is not None:  # Only glibc has it.
    trim(0)
