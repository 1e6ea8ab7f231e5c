"""What a batch of environments shows after a step, as arrays with a row each.

Without TensorFlow, so that a process that only steps environments starts soon.
"""

from collections.abc import Sequence
import mmap
from typing import NamedTuple

import numpy as np

from srdice_tf.environments import seeded_episodes

FIRST, MID, LAST = range(3)  # As TF-Agents' StepType numbers them.
_ALIGNMENT = 64


class StepRows(NamedTuple):
  """Arrays in the order of TF-Agents' TimeStep, whose fields have these names.

  Attributes:
    step_type: [B] FIRST, MID or LAST.
    reward: [B] of the step that led here.
    discount: [B] 0 after a termination.
    observation: [B, ...] now.
  """

  step_type: np.ndarray
  reward: np.ndarray
  discount: np.ndarray
  observation: np.ndarray

  def part(self, numbers: range) -> 'StepRows':
    """Returns some of the rows, which share their memory with these."""
    return StepRows(*(array[numbers.start : numbers.stop] for array in self))


def begin(envs: Sequence[seeded_episodes.SeededEpisodes], rows: StepRows):
  """Starts an episode of each environment."""
  for i, env in enumerate(envs):
    rows.observation[i] = env.begin()
  rows.step_type[:], rows.reward[:], rows.discount[:] = FIRST, 0.0, 1.0


def advance(
    envs: Sequence[seeded_episodes.SeededEpisodes],
    rows: StepRows,
    actions: np.ndarray,
    single_episode: bool,
):
  """Steps each environment, from what the rows show.

  Args:
    envs: B environments.
    rows: of them; what they show next is written there.
    actions: [B, ...].
    single_episode: whether an environment stays at the end of its episode
      instead of starting the next one, in a step that ignores the action.
  """
  for i, env in enumerate(envs):
    if rows.step_type[i] != LAST:
      write(rows, i, env.advance(actions[i]))
    elif single_episode:
      rows.reward[i] = 0.0
    else:
      write(rows, i, (env.begin(), 0.0, 1.0, False))
      rows.step_type[i] = FIRST


def write(rows: StepRows, i: int, result):
  """Writes what `SeededEpisodes.advance` returned into row i."""
  rows.observation[i], rows.reward[i], rows.discount[i], last = result
  rows.step_type[i] = LAST if last else MID


class Layout(NamedTuple):
  """Where rows and actions of a batch are, in memory that processes share.

  Attributes:
    num_envs: B.
    observation: shape and type of one.
    action: shape and type of one.
  """

  num_envs: int
  observation: tuple[tuple[int, ...], str]
  action: tuple[tuple[int, ...], str]

  def _forms(self) -> list[tuple[tuple[int, ...], np.dtype]]:
    forms = ((), 'i4'), ((), 'f4'), ((), 'f4'), self.observation, self.action
    return [((self.num_envs, *s), np.dtype(dtype)) for s, dtype in forms]

  def _offsets(self) -> list[int]:
    """Returns where each array begins, and the size of all."""
    offsets = [0]
    for shape, dtype in self._forms():
      size = int(np.prod(shape)) * dtype.itemsize
      offsets.append(offsets[-1] - -size // _ALIGNMENT * _ALIGNMENT)
    return offsets

  @property
  def num_bytes(self) -> int:
    return self._offsets()[-1]

  def arrays(self, descriptor: int) -> tuple[StepRows, np.ndarray]:
    """Returns rows and actions in a file of `num_bytes`."""
    memory = mmap.mmap(descriptor, self.num_bytes)
    *rows, actions = (
        np.ndarray(shape, dtype, memory, offset)
        for (shape, dtype), offset in zip(self._forms(), self._offsets())
    )
    return StepRows(*rows), actions
