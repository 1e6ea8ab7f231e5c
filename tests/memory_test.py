"""Tests of arrays that are in memory once."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import memory


@pytest.mark.parametrize('dtype', [np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize('shape', [(5,), (3, 4), (0, 2)])
def test_tensors_hold_the_arrays(dtype, shape):
  array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
  tensor = memory.as_tensor(array)
  assert tensor.dtype.as_numpy_dtype == dtype
  np.testing.assert_array_equal(tensor, array)


def test_aligned_arrays_are_shared():
  array = memory.aligned_empty((4,), np.float32)
  array[:] = 1.0
  tensor = memory.as_tensor(array)
  array[2] = 7.0  # Not for use: only a shared memory shows the change.
  np.testing.assert_array_equal(tensor, [1.0, 1.0, 7.0, 1.0])


def test_arrays_that_may_not_be_written_are_copied():
  array = memory.aligned_empty((4,), np.float32)
  array[:] = 1.0
  array.flags.writeable = False
  np.testing.assert_array_equal(memory.as_tensor(array), np.ones(4))


def test_parts_of_unequal_size_are_joined_in_order():
  values = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
  parts = (tf.constant(part) for part in np.split(values, [2, 3]))
  np.testing.assert_array_equal(memory.concat(parts, 7), values)
  whole = tf.constant(values)
  assert memory.concat([whole], 7) is whole


def test_memory_is_given_back():
  blocks = [np.ones(10_000) for _ in range(5_000)]  # 400 MB in small blocks.
  full = _resident_bytes()
  del blocks
  memory.give_back()
  assert _resident_bytes() < full - 300e6


def _resident_bytes() -> int:
  with open('/proc/self/statm') as file:
    return 4096 * int(file.read().split()[1])
