"""Large arrays once in memory: shared with TensorFlow, given back when done."""

from collections.abc import Iterable
import ctypes

import numpy as np
import tensorflow as tf

_ALIGNMENT = 64  # Bytes; TensorFlow aborts at what is aligned to less.


def aligned_empty(shape, dtype) -> np.ndarray:
  """Returns an array that TensorFlow takes as it is, without a copy."""
  size = int(np.prod(shape)) * np.dtype(dtype).itemsize
  memory = np.empty(size + _ALIGNMENT, np.uint8)
  begin = -memory.ctypes.data % _ALIGNMENT
  return memory[begin : begin + size].view(dtype).reshape(shape)


def as_tensor(array: np.ndarray) -> tf.Tensor:
  """Returns the array itself as a tensor, if it is aligned; else a copy."""
  if array.dtype == bool:  # DLPack has none.
    return tf.constant(array)
  flags = array.flags
  is_fit = flags.c_contiguous and flags.writeable and array.size
  if not is_fit or array.ctypes.data % _ALIGNMENT:
    given, array = array, aligned_empty(array.shape, array.dtype)
    array[...] = given
  return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def concat(parts: Iterable[tf.Tensor], size: int) -> tf.Tensor:
  """Returns the parts, `size` rows in all, one behind the other.

  Each part is put into its place at once, where tf.concat would need all of
  them beside the result.
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
  """Returns freed memory to the system; the C library keeps it otherwise."""
  trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)
  if trim is not None:  # It is glibc's.
    trim(0)
