"""Pieces of streamed data: consecutive rows of one environment, as arrays."""

from typing import NamedTuple

import numpy as np


class Segment(NamedTuple):
  """Consecutive rows of one environment, as a source delivers them.

  Attributes:
    stream: collector and environment that the rows are of.
    call: number of the first row in its stream.
    observations: [K, ...], or frames [K, H, W].
    step_types: [K] FIRST (0), MID or LAST of each row.
    actions: [K, A] or [K], the action that led to each row.
    rewards: [K] the reward that came with it.
    not_done: [K] the discount that came with it.
  """

  stream: tuple[int, int]
  call: int
  observations: np.ndarray
  step_types: np.ndarray
  actions: np.ndarray
  rewards: np.ndarray
  not_done: np.ndarray

  @property
  def size(self) -> int:
    return len(self.step_types)


class Block(NamedTuple):
  """The transitions of a segment, with the rows that they need.

  Attributes:
    rows: [R, ...] observations or frames: those of the segment, after the last
      ones before it.
    ages: [R] steps since the start of the row's episode.
    positions: [n] the row of each transition's state.
    actions: [n, A] or [n].
    rewards: [n].
    not_done: [n].
    episodes: [n] the number of the transition's episode in the data set.
    steps: [n] the step of the transition in its episode.
    index: [n] the number of the transition in the data set.
    number: of the segment, in the order of the data set.
  """

  rows: np.ndarray
  ages: np.ndarray
  positions: np.ndarray
  actions: np.ndarray
  rewards: np.ndarray
  not_done: np.ndarray
  episodes: np.ndarray
  steps: np.ndarray
  index: np.ndarray
  number: int

  @property
  def size(self) -> int:
    return len(self.positions)

  def only(self, kept: np.ndarray) -> 'Block':
    """Returns the block with those transitions for which `kept` [n] is so."""
    names = (
        'positions', 'actions', 'rewards', 'not_done', 'episodes', 'steps',
        'index',
    )
    columns = {name: getattr(self, name)[kept] for name in names}
    return self._replace(**columns)
