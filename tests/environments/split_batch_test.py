"""Tests that a batch split over processes is the same batch."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.environments import batched
from srdice_tf.environments import split_batch
from srdice_tf.evaluation import free_cores
from srdice_tf.evaluation import rollouts
from srdice_tf.evaluation import trajectories
from tests import counter
from tests import fixtures
from tests.environments import failing


def _load(env_id, num_processes, num_envs=5):
  return environments.load_batch(
      env_id, num_envs, seed=3, num_processes=num_processes
  )


def _steps(env, num_steps=8):
  """Returns the time steps of a batch under fixed actions."""
  shape = num_steps, env.batch_size, *env.action_spec().shape
  if np.issubdtype(env.action_spec().dtype, np.integer):
    actions = np.ones(shape, np.int64)
  else:
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, shape)
  actions = actions.astype(env.action_spec().dtype)
  with env:
    return [env.reset(), *(env.step(action) for action in actions)]


def _assert_same(one, other):
  for expected, found in zip(one, other, strict=True):
    for array, array_found in zip(expected, found):
      np.testing.assert_array_equal(array, array_found)
      assert array.dtype == array_found.dtype


@pytest.mark.parametrize(
    'env_id, num_processes',
    [(counter.COUNTER, 3), ('FiveStateChain', 2), ('PixelCorridor', 2)],
)
def test_no_number_depends_on_the_processes(env_id, num_processes):
  """The counter's episodes also end, each at another step."""
  split = _load(env_id, num_processes)
  assert isinstance(split, split_batch.SplitBatch)
  _assert_same(_steps(_load(env_id, 1)), _steps(split))


def test_roll_outs_are_the_same(monkeypatch):
  config = rollouts.RollOutConfig(counter.COUNTER, 0.9)
  policy = fixtures.behaviour_policy(fixtures.config(10))
  found = []
  for number in (1, 3):
    monkeypatch.setattr(free_cores, 'num_processes', lambda *_, n=number: n)
    found.append(trajectories.sample(config, policy, 7))
  for one, other in zip(*found):
    np.testing.assert_array_equal(one, other)


def test_processes_say_nothing_and_import_no_tensorflow(capfd):
  env = _load('Hopper-v4', 2, num_envs=2)  # Is 'out of date', as we know here.
  (process,) = env._others
  with open(f'/proc/{process._process.pid}/maps') as file:
    loaded = file.read()
  assert 'mujoco' in loaded and 'tensorflow' not in loaded
  _steps(env, num_steps=1)
  assert capfd.readouterr() == ('', '')


class _Own(counter.Counter):
  """As a script has it that is not a module."""


_Own.__module__ = '__main__'


@pytest.mark.parametrize('kind', ['local', 'main', 'lambda'])
def test_what_others_cannot_make_is_stepped_here(kind, monkeypatch):
  class Local(counter.Counter):
    pass

  monkeypatch.setattr(sys.modules['__main__'], '_Own', _Own, raising=False)
  entry_point = {'local': Local, 'main': _Own, 'lambda': lambda: Local()}[kind]
  monkeypatch.setattr(gymnasium, 'registry', dict(gymnasium.registry))
  monkeypatch.setattr(
      gymnasium.envs.registration, 'registry', gymnasium.registry
  )
  gymnasium.register('TestOwn-v0', entry_point=entry_point)
  monkeypatch.setattr(subprocess, 'Popen', lambda *_: pytest.fail('started'))
  with _load('TestOwn-v0', 2, num_envs=2) as env:
    assert isinstance(env, batched.BatchedEnvironment)
    assert env.reset().observation.shape == (2, 3)


def test_what_the_program_has_changed_is_stepped_here(monkeypatch):
  original = counter.Counter.step

  def pay_double(self, action):
    observation, reward, *rest = original(self, action)
    return observation, 2.0 * reward, *rest

  monkeypatch.setattr(counter.Counter, 'step', pay_double)
  env = _load(counter.COUNTER, 2)
  assert isinstance(env, batched.BatchedEnvironment)
  _, first, *_ = _steps(env)
  np.testing.assert_array_equal(first.reward, 2.0)


def test_a_change_that_shows_late_is_found(monkeypatch):
  """Here in no first episode."""
  original = counter.Counter.reset

  def start_elsewhere(self, **kwargs):
    observation, info = original(self, **kwargs)
    self.num_resets = getattr(self, 'num_resets', 0) + 1
    return observation + (self.num_resets > 1), info

  monkeypatch.setattr(counter.Counter, 'reset', start_elsewhere)
  env = environments.load_batch(
      counter.COUNTER, 2, max_episode_steps=40, num_processes=2
  )
  assert isinstance(env, batched.BatchedEnvironment)


def test_a_module_that_others_do_not_find_is_stepped_here(monkeypatch):
  monkeypatch.setattr(counter.Counter, '__module__', 'not_there')
  monkeypatch.setitem(sys.modules, 'not_there', counter)
  assert isinstance(_load(counter.COUNTER, 2), batched.BatchedEnvironment)


def test_an_environment_that_fails_at_once_is_told_as_ever():
  failures = []
  for num_processes in (1, 2):
    with pytest.raises(errors.UserCodeError) as failure:
      _steps(_load(failing.id_of('reset'), num_processes, num_envs=2))
    failures.append(failure.value)
  assert str(failures[0]) == str(failures[1])


@pytest.fixture(name='two', scope='module')
def _two():
  """A batch of two in two processes, for what does not end it."""
  with environments.load_batch(counter.COUNTER, 2, num_processes=2) as env:
    yield env


def test_errors_come_from_other_processes(two, monkeypatch):
  two.reset()
  # Changes this process, whose own environment goes on.
  (own,) = two._own
  step = own.begin(), 0.0, 1.0, False
  monkeypatch.setattr(own, 'advance', lambda _: step)
  message = 'episode 0, step 1: the observation has values that are NaN'
  with pytest.raises(errors.UserCodeError, match=message):
    two.step(np.full((2, 1), np.nan, np.float32))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_are_for_the_one_that_asks(two, number):
  pid = two._others[0]._process.pid
  assert os.getpgid(pid) != os.getpgid(0)
  os.kill(pid, number)
  two.reset()


def _is_gone(pid):
  return not os.path.exists(f'/proc/{pid}')


def test_processes_end_if_the_one_that_asks_is_killed():
  read, write = os.pipe()
  if not (asking := os.fork()):
    env = environments.load_batch(counter.COUNTER, 3, num_processes=3)
    env.reset()
    pids = [str(part._process.pid) for part in env._others]
    os.write(write, ' '.join(pids).encode())
    time.sleep(60)
    os._exit(0)
  pids = os.read(read, 100).decode().split()
  assert len(pids) == 2 and not any(map(_is_gone, pids))
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
  env = environments.load_batch(counter.COUNTER, 3, num_processes=3)
  env.reset()
  killed, other = (part._process.pid for part in env._others)
  os.kill(killed, signal.SIGKILL)
  with pytest.raises(errors.UserError, match='ended with the code -9'):
    env.step(np.zeros((3, 1), np.float32))
  env.close()
  assert _is_gone(killed) and _is_gone(other)
