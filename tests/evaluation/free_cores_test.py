"""Tests for the number of processes that step roll-outs."""

import os

import pytest

from srdice_tf.evaluation import free_cores
from tests import counter
from tests.environments import failing


@pytest.fixture(name='machine')
def _machine(monkeypatch):
  """Four idle cores; returns what sets how many of them are given."""

  def give(share):
    monkeypatch.setattr(
        free_cores, '_time_given', lambda num_threads: share * num_threads
    )

  monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(4)))
  monkeypatch.setattr(free_cores, '_step_seconds', lambda _: 1e-3)
  give(0.97)
  return give


def test_as_many_processes_as_this_one_has_cores(machine, monkeypatch):
  del machine
  assert free_cores.num_processes('X', 100, 100) == 4
  assert free_cores.num_processes('X', 3, 10_000) == 3
  assert free_cores.num_processes('X', 100, 30) == 1  # Three seconds.
  monkeypatch.setenv('OMP_NUM_THREADS', '1')  # As a worker of a sweep.
  assert free_cores.num_processes('X', 100, 100) == 1
  monkeypatch.delenv('OMP_NUM_THREADS')
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {1})
  assert free_cores.num_processes('X', 100, 100) == 1


@pytest.mark.parametrize('share, expected', [(0.7, 3), (0.5, 2), (0.1, 1)])
def test_cores_at_which_others_work_are_left_to_them(share, expected, machine):
  machine(share)
  assert free_cores.num_processes('X', 100, 100) == expected


def test_the_time_of_a_step_is_measured():
  assert 1e-6 < free_cores._step_seconds(counter.COUNTER) < 0.1
  # Fails in its third step: then one process will tell.
  assert free_cores._step_seconds(failing.id_of('raise')) == 0.0


def test_the_time_given_is_measured(monkeypatch):
  """Two threads on one core get one second in a second, or less."""
  cores = os.sched_getaffinity(0)
  monkeypatch.setattr(free_cores, '_LOOK_SECONDS', 0.1)
  os.sched_setaffinity(0, {min(cores)})
  try:
    assert 0.0 < free_cores._time_given(2) < 1.2
  finally:
    os.sched_setaffinity(0, cores)
