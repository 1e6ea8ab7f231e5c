"""Tests that a batch split over processes is the same batch."""

import functools
import os
import signal
import sys
import time

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.evaluation import rollouts
from srdice_tf.evaluation import trajectories
from tests import fixtures
from tests.environments import failing


def _steps(env_id, num_processes, num_envs=5, num_steps=8):
  """Returns the time steps of a batch under fixed actions."""
  env = environments.load_batch(
      env_id, num_envs, seed=3, num_processes=num_processes
  )
  shape = num_steps, num_envs, *env.action_spec().shape
  if np.issubdtype(env.action_spec().dtype, np.integer):
    actions = np.ones(shape, np.int64)
  else:
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, shape)
  actions = actions.astype(env.action_spec().dtype)
  try:
    return [env.reset(), *(env.step(action) for action in actions)]
  finally:
    env.close()


@pytest.mark.parametrize(
    'env_id', [fixtures.COUNTER, 'FiveStateChain', 'PixelCorridor']
)
def test_no_number_depends_on_the_processes(env_id):
  """The counter's episodes also end, each at another step."""
  alone, *split = (_steps(env_id, n) for n in (1, 2, 3))
  for steps in split:
    for expected, found in zip(alone, steps, strict=True):
      for one, other in zip(expected, found):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_roll_outs_are_the_same(monkeypatch):
  config = rollouts.RollOutConfig(fixtures.COUNTER, 0.9)
  policy = fixtures.behaviour_policy(fixtures.config(10))
  found = []
  for num_processes in (1, 3):
    fixed = functools.partial(lambda number, *_: number, num_processes)
    monkeypatch.setattr(rollouts, '_num_processes', fixed)
    found.append(trajectories.sample(config, policy, 7))
  for one, other in zip(*found):
    np.testing.assert_array_equal(one, other)


def test_what_an_environment_raises_in_a_process_is_told():
  failures = []
  for num_processes in (1, 2):
    with pytest.raises(errors.UserCodeError) as failure:
      _steps(failing.id_of('reset'), num_processes, num_envs=2)
    failures.append(failure.value)
  # Both environments fail; the first one is of this process, as always.
  assert str(failures[0]) == str(failures[1])


def test_errors_come_from_other_processes(monkeypatch):
  with environments.load_batch(fixtures.COUNTER, 2, num_processes=2) as env:
    env.reset()
    # Changes this process, whose own environment goes on.
    monkeypatch.setattr(env._own, 'step', lambda _: env._own.reset())
    with pytest.raises(errors.UserCodeError, match='episode 0, step 1'):
      env.step(np.full((2, 1), np.nan, np.float32))


def _is_gone(pid):
  return not os.path.exists(f'/proc/{pid}')


def test_processes_end_with_the_batch():
  env = environments.load_batch(fixtures.COUNTER, 3, num_processes=3)
  env.reset()
  pids = [part._process.pid for part in env._others]
  assert len(pids) == 2 and not any(map(_is_gone, pids))
  env.close()
  assert all(map(_is_gone, pids))


def test_processes_end_if_the_one_that_asks_is_killed():
  read, write = os.pipe()
  if not (asking := os.fork()):
    env = environments.load_batch(fixtures.COUNTER, 3, num_processes=3)
    env.reset()
    pids = [str(part._process.pid) for part in env._others]
    os.write(write, ' '.join(pids).encode())
    time.sleep(60)
    os._exit(0)
  pids = os.read(read, 100).decode().split()
  os.kill(asking, signal.SIGKILL)
  os.waitpid(asking, 0)
  end = time.monotonic() + 10
  while not all(_is_gone(pid) or _is_zombie(pid) for pid in pids):
    assert time.monotonic() < end
    time.sleep(0.01)


def _is_zombie(pid) -> bool:
  with open(f'/proc/{pid}/stat') as file:
    return file.read().rpartition(')')[2].split()[0] == 'Z'


def test_a_killed_process_is_one_clear_line():
  env = environments.load_batch(fixtures.COUNTER, 2, num_processes=2)
  env.reset()
  os.kill(env._others[0]._process.pid, signal.SIGKILL)
  with pytest.raises(errors.UserError, match='ended with the code -9'):
    env.step(np.zeros((2, 1), np.float32))
  env.close()


def test_as_many_processes_as_this_one_has_cores(monkeypatch):
  monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(4)))
  monkeypatch.setattr(os, 'cpu_count', lambda: 6)
  monkeypatch.setattr(rollouts, '_num_others', lambda: 0)
  monkeypatch.setitem(sys.modules, 'reverb', None)
  assert rollouts._num_processes(100, 1000) == 1  # Its threads are no forks'.
  monkeypatch.delitem(sys.modules, 'reverb')
  assert rollouts._num_processes(100, 1000) == 4
  assert rollouts._num_processes(3, 100_000) == 3
  assert rollouts._num_processes(10, 20) == 1  # Not worth it.
  monkeypatch.setattr(rollouts, '_num_others', lambda: 4)
  assert rollouts._num_processes(100, 1000) == 2  # Two of six are free.
  monkeypatch.setattr(rollouts, '_num_others', lambda: 40)
  assert rollouts._num_processes(100, 1000) == 1
  monkeypatch.setattr(rollouts, '_num_others', lambda: 0)
  monkeypatch.setenv('OMP_NUM_THREADS', '1')  # As a worker of a sweep.
  assert rollouts._num_processes(100, 1000) == 1
  monkeypatch.delenv('OMP_NUM_THREADS')
  monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {1})
  assert rollouts._num_processes(100, 1000) == 1
