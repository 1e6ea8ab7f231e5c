"""Data that are in memory, cut into segments as a server would have them."""

import numpy as np

from srdice_tf.data import arrays
from srdice_tf.data import blocks


class CutSegments:
  """A source of segments of random lengths, in random order.

  Attributes:
    pieces: the segments, in the order of time.
  """

  where, num_bytes = 'test data', 0

  def __init__(self, dataset, longest: int = 7, seed: int = 0):
    self._rng = np.random.default_rng(seed)
    self.frame_stack = dataset.observations.frame_stack
    rows = dataset.observations.rows.numpy()
    arrivals = dataset.positions.numpy() + 1
    starts = dataset.starts.numpy()
    actions = np.zeros(
        (len(rows), *dataset.actions.shape[1:]), dataset.actions.numpy().dtype
    )
    rewards, not_done = np.zeros((2, len(rows)), np.float32)
    types = np.full(len(rows), arrays.MID)
    types[starts] = arrays.FIRST
    types[np.append(starts[1:], len(rows)) - 1] = arrays.LAST
    actions[arrivals] = dataset.actions
    rewards[arrivals], not_done[arrivals] = dataset.rewards, dataset.not_done
    columns = rows, types, actions, rewards, not_done
    self.pieces, begin = [], 0
    # Two streams, the second from some episode in the middle.
    middle = starts[len(starts) // 2]
    for stream, (low, high) in enumerate([(0, middle), (middle, len(rows))]):
      begin = low
      while begin < high:
        end = min(begin + int(self._rng.integers(1, longest + 1)), high)
        part = (column[begin:end] for column in columns)
        self.pieces.append(blocks.Segment((0, stream), begin - low, *part))
        begin = end

  def segments(self):
    """Yields each of them once."""
    for i in self._rng.permutation(len(self.pieces)):
      yield self.pieces[i]

  def endless(self):
    """Yields them as a server draws them."""
    while True:
      yield self.pieces[self._rng.integers(len(self.pieces))]
