"""Tests that frames, which are large, are kept in memory once."""

import numpy as np

from srdice_tf import memory
from srdice_tf.data import datasets


def _dataset(rows):
  rows[:] = np.arange(6, dtype=np.uint8)[:, None, None]
  return datasets.Dataset.from_rows(
      rows,
      step_types=np.array([0, 1, 1, 2, 0, 1]),
      actions=np.zeros(6, np.int64),
      rewards=np.zeros(6),
      not_done=np.ones(6),
      frame_stack=2,
  )


def _stacks(data):
  return data.states(np.array([0, 2])).numpy()[:, 0, 0]


def test_frames_are_not_copied():
  rows = memory.aligned_empty((6, 4, 4), np.uint8)
  data = _dataset(rows)
  tensor = data.observations.rows
  # Not for use: only a shared memory shows the change.
  rows[2] = 77
  assert int(tensor[2, 0, 0]) == 77
  np.testing.assert_array_equal(_stacks(data), [[0, 0], [1, 77]])


def test_frames_at_any_address_can_be_used():
  flat = memory.aligned_empty((6 * 16 + 1,), np.uint8)
  data = _dataset(flat[1:].reshape(6, 4, 4))
  np.testing.assert_array_equal(_stacks(data), [[0, 0], [1, 2]])
