"""Tests for the checksum that tells data sets apart."""

import numpy as np
import pytest

from srdice_tf.data import datasets

_ARRAYS = {
    'rows': np.arange(8, dtype=np.float32).reshape(4, 2),
    'step_types': np.array([0, 1, 1, 2]),
    'actions': np.zeros((4, 1), np.float32),
    'rewards': np.ones(4, np.float32),
    'not_done': np.ones(4, np.float32),
}


def _checksum(**arrays):
  return datasets.Dataset.from_rows(**_ARRAYS | arrays).checksum()


def test_the_same_contents_have_the_same_checksum():
  copies = {name: array.copy() for name, array in _ARRAYS.items()}
  assert _checksum(**copies) == _checksum()
  assert len(_checksum()) == 64


@pytest.mark.parametrize('name', ['rows', 'actions', 'rewards', 'not_done'])
def test_each_number_counts(name):
  changed = _ARRAYS[name].copy()
  changed[-1] += 1
  assert _checksum(**{name: changed}) != _checksum()


def test_episodes_types_and_stacks_count():
  found = [
      _checksum(),
      _checksum(step_types=np.array([0, 2, 0, 2])),
      _checksum(rows=np.arange(8, dtype=np.int32).reshape(4, 2)),
      _checksum(rows=np.zeros((4, 2, 2), np.uint8)),
      _checksum(rows=np.zeros((4, 2, 2), np.uint8), frame_stack=2),
  ]
  assert len(set(found)) == len(found)
