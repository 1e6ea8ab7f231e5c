"""A batch of environments whose parts step at the same time, in processes.

TF-Agents' ParallelPyEnvironment has a process for each environment, and sends
each observation through a pipe. Here there is one for each core, with a part of
the batch; it writes what it sees into memory that both sides share.
"""

from collections.abc import Callable
import mmap
import multiprocessing
import os
import signal

import numpy as np
from tf_agents.environments import py_environment
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.environments import batched

_RESET, _STEP = b'reset', b'step'


class SplitBatch(py_environment.PyEnvironment):
  """Environments of a batch, of which other processes step the later parts.

  Numbers are those of one BatchedEnvironment with the same environments: each
  has its own seed, and none knows of the others. Processes are forked: they
  have what was registered here, and need no imports. Each makes its own
  environments, so that what these hold is not shared.
  """

  def __init__(
      self,
      load_part: Callable[[range], batched.BatchedEnvironment],
      num_envs: int,
      num_processes: int,
  ):
    """Starts the processes.

    Args:
      load_part: makes the environments with these numbers.
      num_envs: B.
      num_processes: to share the work with, this one among them.
    """
    bounds = np.linspace(0, num_envs, num_processes + 1).astype(int).tolist()
    own, *others = map(range, bounds[:-1], bounds[1:])
    self._others = []
    self._own, self._part = load_part(own), slice(own.start, own.stop)
    self._num_envs = num_envs
    super().__init__()
    self._shared = _shared_time_step(self._own, num_envs)
    self._actions = _shared_array(
        (num_envs, *self.action_spec().shape), self.action_spec().dtype
    )
    for numbers in others:
      self._others.append(
          _Helper(load_part, numbers, self._shared, self._actions, self._others)
      )

  @property
  def batched(self) -> bool:
    return True

  @property
  def batch_size(self) -> int:
    return self._num_envs

  @property
  def frame_stack(self) -> int:
    return self._own.frame_stack

  @property
  def all_ended(self) -> bool:
    return bool(self.current_time_step().is_last().all())

  def observation_spec(self):
    return self._own.observation_spec()

  def action_spec(self):
    return self._own.action_spec()

  def _reset(self):
    return self._together(_RESET, self._own.reset)

  def _step(self, action):
    self._actions[:] = action
    own = self._actions[self._part]
    return self._together(_STEP, lambda: self._own.step(own))

  def _together(self, command: bytes, act: Callable[[], ts.TimeStep]):
    """Lets all parts act; returns the time step of the batch."""
    for part in self._others:
      part.ask(command)
    _write(self._shared, self._part, act())
    for part in self._others:
      part.wait()
    # New arrays each step: drivers and observers keep the previous ones.
    return ts.TimeStep(*(np.copy(each) for each in self._shared))

  def close(self):
    for part in self._others:
      part.close()
    self._own.close()


class _Helper:
  """A process with some environments of the batch."""

  def __init__(self, load_part, numbers: range, shared, actions, earlier):
    context = multiprocessing.get_context('fork')
    self._pipe, theirs = context.Pipe()
    # Else the process would keep them open, and they would not end with ours.
    foreign = [self._pipe, *(part._pipe for part in earlier)]
    self._process = context.Process(
        target=_serve,
        args=(theirs, foreign, load_part, numbers, shared, actions),
        daemon=True,
    )
    self._process.start()
    theirs.close()

  def ask(self, command: bytes):
    try:
      self._pipe.send_bytes(command)
    except OSError:
      pass  # It has ended; `wait` says so.

  def wait(self):
    """Returns when it has done what it was asked for.

    Raises:
      UserError: what an environment of it raised, or that it was killed.
    """
    try:
      error = self._pipe.recv()
    except (EOFError, OSError):
      self._process.join()
      raise errors.at(
          'environments',
          'a process that steps them has ended with the code'
          f' {self._process.exitcode}',
          'expected enough memory',
      ) from None
    if error is not None:
      raise errors.UserCodeError(*error)

  def close(self):
    self._pipe.close()
    self._process.join()


def _serve(pipe, foreign, load_part, numbers, shared, actions):
  """Steps environments until the other side of the pipe is closed."""
  # The process that asks answers Ctrl-C, and ends this one.
  signal.set_wakeup_fd(-1)
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  signal.signal(signal.SIGTERM, signal.SIG_DFL)
  for each in foreign:
    each.close()
  env = None
  try:
    while command := pipe.recv_bytes():
      if env is None:
        env = load_part(numbers)
      pipe.send(_act(env, command, numbers, shared, actions))
  except (EOFError, OSError):
    if env is not None:
      env.close()
    os._exit(0)  # Nothing of the process that was forked is to be run here.


def _act(env, command: bytes, numbers: range, shared, actions):
  """Returns what an environment raised: line and details, or None."""
  part = slice(numbers.start, numbers.stop)
  try:
    step = env.reset() if command == _RESET else env.step(actions[part])
  except errors.UserError as error:
    return str(error), error.details
  _write(shared, part, step)
  return None


def _write(shared: ts.TimeStep, part: slice, step: ts.TimeStep):
  for whole, own in zip(shared, step):
    whole[part] = own


def _shared_time_step(env: py_environment.PyEnvironment, num_envs: int):
  spec = env.observation_spec()
  return ts.TimeStep(
      step_type=_shared_array((num_envs,), np.int32),
      reward=_shared_array((num_envs,), np.float32),
      discount=_shared_array((num_envs,), np.float32),
      observation=_shared_array((num_envs, *spec.shape), spec.dtype),
  )


def _shared_array(shape: tuple[int, ...], dtype) -> np.ndarray:
  """Returns an array that processes forked later write to as well."""
  size = int(np.prod(shape)) * np.dtype(dtype).itemsize
  return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)
