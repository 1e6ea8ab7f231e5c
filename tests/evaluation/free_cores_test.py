"""Tests for the number of processes that step roll-outs."""

import os

import pytest

from srdice_tf.evaluation import free_cores


@pytest.fixture(autouse=True)
def _machine(monkeypatch):
  """Six idle cores, of which this process may use four."""
  monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(4)))
  monkeypatch.setattr(os, 'cpu_count', lambda: 6)
  monkeypatch.setattr(free_cores, '_num_busy', lambda: 0)


def test_as_many_processes_as_this_one_has_cores(monkeypatch):
  assert free_cores.num_processes(100, 1000) == 4
  assert free_cores.num_processes(3, 100_000) == 3
  assert free_cores.num_processes(10, 20) == 1  # Not worth it.
  monkeypatch.setenv('OMP_NUM_THREADS', '1')  # As a worker of a sweep.
  assert free_cores.num_processes(100, 1000) == 1
  monkeypatch.delenv('OMP_NUM_THREADS')
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {1})
  assert free_cores.num_processes(100, 1000) == 1


@pytest.mark.parametrize('busy, expected', [(2, 4), (4, 2), (6, 1)])
def test_cores_at_which_others_work_are_left_to_them(
    busy, expected, monkeypatch
):
  monkeypatch.setattr(free_cores, '_num_busy', lambda: busy)
  assert free_cores.num_processes(100, 1000) == expected


@pytest.mark.parametrize('niceness, expected', [(0, 3), (10, 5)])
def test_who_is_niced_gives_way(niceness, expected, monkeypatch, tmp_path):
  """Of six cores two are busy, one with the system, two niced, one idle."""
  monkeypatch.undo()
  monkeypatch.setattr(os, 'cpu_count', lambda: 6)
  monkeypatch.setattr(os, 'nice', lambda _: niceness)
  looks = iter(
      dict(zip(free_cores._COUNTERS, counts))
      for counts in ([9] * 8, [49, 49, 19, 19, 19, 14, 9, 14])
  )
  monkeypatch.setattr(free_cores, '_ticks', lambda: next(looks))
  assert free_cores._num_busy() == expected


def test_counters_are_those_of_the_system():
  ticks = free_cores._ticks()
  assert set(ticks) == set(free_cores._COUNTERS)
  assert ticks['user'] > 0 and ticks['idle'] > 0
