"""A batch of environments whose parts step at the same time, in processes.

TF-Agents' ParallelPyEnvironment has a process for each environment, and sends
each observation through a pipe. Here there is one for each core, with a part of
the batch; it writes what it sees into memory that both sides share.
"""

from collections.abc import Callable
import contextlib
import multiprocessing
import os
import subprocess
import sys

import numpy as np
from tf_agents.environments import py_environment
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.environments import batch_rows
from srdice_tf.environments import gymnasium_env
from srdice_tf.environments import making
from srdice_tf.environments import part_process

# Modules are found where this process finds them. Nothing of its main program
# is run, as multiprocessing would do.
_PROGRAM = """\
import sys
sys.path[:] = sys.argv[3:]
from srdice_tf.environments import part_process
part_process.main()
"""
_START_SECONDS = 120.0  # Until a process must have made its environments.
_MAX_TRIAL_STEPS = 1_000
_END_SECONDS = 5.0  # Until one that does not end is killed.


class CannotBeSplitError(Exception):
  """Other processes cannot make the same environment."""


class SplitBatch(py_environment.PyEnvironment):
  """Environments of a batch, of which other processes step the later parts.

  Numbers are those of one BatchedEnvironment with the same environments: each
  has its own seed, and none knows of the others. Processes are started anew, as
  forks die beside the threads of Reverb; so they might have another environment
  under the same name, if the program has changed it since its import. All
  therefore play as many steps as an episode has, of one more environment, and
  compare: a change may show only where episodes end.
  """

  def __init__(
      self,
      load_one: Callable[[int], gymnasium_env.GymnasiumEnvironment],
      wanted: part_process.Wanted,
      num_envs: int,
      num_processes: int,
  ):
    """Starts the processes.

    Args:
      load_one: makes the environment with this number.
      wanted: the same, for other processes.
      num_envs: B.
      num_processes: to share the work with, this one among them.

    Raises:
      CannotBeSplitError: if they cannot make the same environment.
    """
    bounds = np.linspace(0, num_envs, num_processes + 1).astype(int).tolist()
    self._numbers, *others = map(range, bounds[:-1], bounds[1:])
    self._single_episode = wanted.single_episode
    trial = load_one(num_envs)
    layout = _layout(trial, num_envs)
    self._own, self._others = [], []
    with contextlib.ExitStack() as stack:
      stack.callback(self.close)
      memory = os.memfd_create('srdice_tf')
      stack.callback(os.close, memory)
      os.truncate(memory, layout.num_bytes)
      self._rows, self._actions = layout.arrays(memory)
      spec = making.spec_of(wanted.env_id)
      limit = wanted.max_episode_steps or spec.max_episode_steps
      trial_steps = min(limit or _MAX_TRIAL_STEPS, _MAX_TRIAL_STEPS)
      for numbers in others:
        part = part_process.Part(wanted, spec, numbers, layout, trial_steps)
        self._others.append(_Helper(part, memory))
      self._own = [load_one(number) for number in self._numbers]
      _compare(trial, trial_steps, self._others)
      super().__init__()
      stack.pop_all()
    os.close(memory)

  @property
  def batched(self) -> bool:
    return True

  @property
  def batch_size(self) -> int:
    return len(self._actions)

  @property
  def frame_stack(self) -> int:
    return self._own[0].frame_stack

  @property
  def all_ended(self) -> bool:
    return bool(self.current_time_step().is_last().all())

  def observation_spec(self):
    return self._own[0].observation_spec()

  def action_spec(self):
    return self._own[0].action_spec()

  def _reset(self):
    rows = self._rows.part(self._numbers)
    return self._together(
        part_process.RESET, lambda: batch_rows.begin(self._own, rows)
    )

  def _step(self, action):
    self._actions[:] = action
    arguments = (
        self._own,
        self._rows.part(self._numbers),
        self._actions[: self._numbers.stop],
        self._single_episode,
    )
    return self._together(
        part_process.STEP, lambda: batch_rows.advance(*arguments)
    )

  def _together(self, command: bytes, act: Callable[[], None]) -> ts.TimeStep:
    """Lets all parts act; returns the time step of the batch."""
    for part in self._others:
      part.ask(command)
    act()
    for part in self._others:
      part.wait()
    # New arrays each step: drivers and observers keep the previous ones.
    return ts.TimeStep(*(np.copy(each) for each in self._rows))

  def close(self):
    for part in self._others:
      part.close()
    for env in self._own:
      env.close()


class _Helper:
  """A process with some environments of the batch."""

  def __init__(self, part: part_process.Part, memory: int):
    if (data := part.to_bytes()) is None:
      raise CannotBeSplitError
    self._pipe, theirs = multiprocessing.Pipe()
    descriptors = theirs.fileno(), memory
    arguments = map(str, [*descriptors, *sys.path])
    with theirs:
      try:
        self._process = subprocess.Popen(
            [sys.executable, '-c', _PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            pass_fds=descriptors,
            process_group=0,  # Ctrl-C is for who asks.
        )
      except OSError as error:
        raise CannotBeSplitError from error
    self._send(data)

  def checksum(self) -> str | None:
    """Returns that of the trial, when all is made; None if it cannot be."""
    try:
      return self._pipe.recv() if self._pipe.poll(_START_SECONDS) else None
    except (EOFError, OSError):
      return None

  def ask(self, command: bytes):
    self._send(command)

  def _send(self, data: bytes):
    try:
      self._pipe.send_bytes(data)
    except OSError:
      pass  # It has ended; who waits for an answer says so.

  def wait(self):
    """Returns when it has done what it was asked for.

    Raises:
      UserError: what an environment of it raised, or that it was killed.
    """
    try:
      error = self._pipe.recv()
    except (EOFError, OSError):
      raise errors.at(
          'environments',
          'a process that steps them has ended with the code'
          f' {self._process.wait()}',
          'expected enough memory',
      ) from None
    if error is not None:
      raise errors.UserCodeError(*error)

  def close(self):
    """Ends the process."""
    self._pipe.close()
    try:
      self._process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
      self._process.kill()
      self._process.wait()


def _layout(
    env: gymnasium_env.GymnasiumEnvironment, num_envs: int
) -> batch_rows.Layout:
  forms = (
      (spec.shape, np.dtype(spec.dtype).str)
      for spec in (env.observation_spec(), env.action_spec())
  )
  return batch_rows.Layout(num_envs, *forms)


def _compare(
    trial: gymnasium_env.GymnasiumEnvironment, num_steps: int, others
):
  """Raises an error if other processes have other environments than this."""
  try:
    expected = trial.trial(num_steps)
  except errors.UserError as error:
    raise CannotBeSplitError from error
  finally:
    trial.close()
  if any(part.checksum() != expected for part in others):
    raise CannotBeSplitError
