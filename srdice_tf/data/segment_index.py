"""Where each segment of streamed data belongs, found by one pass over them.

Segments come in any order, and a transition may begin in one and end in the
next. The index knows their order, and keeps of each what others need: its last
rows. What has a number for each transition is in files, not in memory.
"""

from collections.abc import Iterable
import hashlib

import numpy as np

from srdice_tf import errors
from srdice_tf.data import arrays
from srdice_tf.data import blocks
from srdice_tf.data import scratch_files

_ADVICE = 'the data set is damaged, collect it again'


class SegmentIndex:
  """The order of all segments, and the columns of their transitions.

  Attributes:
    num_segments: how many there are.
    longest: rows of the longest one.
    no_actions: [0, ...] actions, which tell shape and type.
    starts: [m, ...] the observations, or frames, at the start of episodes.
    rewards: [n] float32.
    not_done: [n] float32.
    episodes: [n] int32.
    steps: [n] int32.
    checksum: of all contents.
  """

  def __init__(
      self,
      segments: Iterable[blocks.Segment],
      overlap: int,
      scratch: scratch_files.Scratch,
      where: str = 'data set',
  ):
    """Passes over the data.

    Args:
      segments: all of them, once, in any order.
      overlap: rows before a segment that its own need: one, or as many as
        frames are stacked.
      scratch: where columns are kept.
      where: what errors call the data.

    Raises:
      UserError: if rows are missing or are there twice, or are not finite.
    """
    self._overlap = overlap
    self._where = where
    steps, starts, tails = (scratch_files.Column(scratch) for _ in range(3))
    keys, begins, digests = [], [], []
    for segment in segments:
      self._check(segment)
      is_first = segment.step_types == arrays.FIRST  # [K]
      tail = segment.observations[-overlap:]
      keys.append((*segment.stream, segment.call, segment.size))
      begins.append((len(steps), len(starts), len(tails), len(tail)))
      digests.append(_digest(segment))
      steps.append(_steps(segment))
      starts.append(segment.observations[is_first])
      tails.append(tail)
      self.no_actions = segment.actions[:0]
    if not keys:
      raise errors.at(where, 'there are no transitions')
    keys, begins = np.array(keys), np.array(begins)
    order = np.lexsort(keys[:, 2::-1].T)
    self._keys, begins = keys[order], begins[order]
    self._check_order()
    self.num_segments, self.longest = len(keys), int(keys[:, 3].max())
    self._tails, self._tail_places = tails.array(), begins[:, 2:]
    # By stream and call.
    self._numbers = {
        tuple(key): i for i, key in enumerate(self._keys[:, :3].tolist())
    }
    self._join(steps.array(), starts.array(), begins, scratch)
    ordered = b''.join(digests[i] for i in order)
    self.checksum = hashlib.sha256(ordered).hexdigest()

  def _check(self, segment: blocks.Segment):
    for name in ('observations', 'actions', 'rewards', 'not_done'):
      values = getattr(segment, name)
      is_float = np.issubdtype(values.dtype, np.floating)
      if is_float and not np.isfinite(values).all():
        raise errors.at(
            self._where, f'some values of {name} are NaN or infinite'
        )
    if not np.isin(segment.not_done, (0.0, 1.0)).all():
      raise errors.at(
          self._where, 'not_done has other values', 'expected 0 or 1'
      )

  def _check_order(self):
    """Raises an error unless the rows of each stream follow each other."""
    keys = self._keys
    is_new = np.ones(len(keys), bool)
    is_new[1:] = np.any(keys[1:, :2] != keys[:-1, :2], axis=1)
    expected = np.zeros(len(keys), int)
    expected[1:] = keys[:-1, 2] + keys[:-1, 3]
    expected[is_new] = 0
    wrong = np.flatnonzero(keys[:, 2] != expected)
    if wrong.size:
      collector, slot = keys[wrong[0], :2]
      raise errors.at(
          f'{self._where}: collector {collector}, environment {slot}',
          'rows are missing or stored twice',
          _ADVICE,
      )

  def _join(self, steps, starts, begins, scratch):
    """Writes the columns in the order of the data set."""
    num_rows, num_starts = len(steps), len(starts)
    size = num_rows - num_starts
    self.starts = scratch.empty(starts.shape, starts.dtype)
    self.rewards, self.not_done = (
        scratch.empty([size], np.float32) for _ in range(2)
    )
    self.episodes, self.steps = (
        scratch.empty([size], np.int32) for _ in range(2)
    )
    self._ages = scratch.empty([num_rows], np.int32)
    # Of each segment: rows, transitions and episodes before it.
    self._before = np.zeros((len(begins), 3), np.int64)
    row, transition, episode, age = 0, 0, 0, -1
    for i, (begin, first, *_) in enumerate(begins):
      self._before[i] = row, transition, episode
      part = steps[begin : begin + self._keys[i, 3]]  # [K, 3]
      is_first = part[:, 0] == arrays.FIRST
      if age < 0 and not is_first[0]:
        raise errors.at(self._where, 'a stream has no first row', _ADVICE)
      ages = _ages(is_first, age)  # [K]
      numbers = episode + np.cumsum(is_first) - 1  # [K]
      self._ages[row : row + len(part)] = ages
      here = slice(transition, transition + int(np.sum(~is_first)))
      self.rewards[here] = part[~is_first, 1]
      self.not_done[here] = part[~is_first, 2]
      self.episodes[here] = numbers[~is_first]
      self.steps[here] = ages[~is_first] - 1
      count = int(is_first.sum())
      self.starts[episode : episode + count] = starts[first : first + count]
      row, transition, episode = row + len(part), here.stop, episode + count
      age = int(ages[-1])
    for array in (self._ages, self.starts, self.rewards, self.not_done):
      scratch_files.forget(array)

  def block(self, segment: blocks.Segment) -> blocks.Block:
    """Returns the transitions of a segment, complete.

    Raises:
      UserError: if the segment is new: the data have changed.
    """
    number = self._numbers.get((*segment.stream, segment.call))
    if number is None or self._keys[number, 3] != segment.size:
      raise errors.at(
          self._where, 'the data have changed meanwhile', 'begin again'
      )
    before = self._rows_before(number)
    lead = sum(map(len, before))
    row, transition, _ = self._before[number]
    arrivals = np.flatnonzero(segment.step_types != arrays.FIRST)  # [n]
    index = transition + np.arange(len(arrivals))  # [n]
    return blocks.Block(
        rows=np.concatenate([*before, segment.observations]),
        ages=np.array(self._ages[row - lead : row + segment.size]),
        positions=arrivals + lead - 1,
        actions=segment.actions[arrivals],
        rewards=segment.rewards[arrivals],
        not_done=segment.not_done[arrivals],
        episodes=np.array(self.episodes[index]),
        steps=np.array(self.steps[index]),
        index=index,
        number=number,
    )

  def _rows_before(self, number: int) -> list[np.ndarray]:
    """Returns the last rows before a segment, in pieces."""
    missing = min(self._overlap, int(self._keys[number, 2]))
    pieces = []
    while missing:
      number -= 1
      begin, size = self._tail_places[number]
      piece = self._tails[begin : begin + size][-missing:]
      pieces.insert(0, piece)
      missing -= len(piece)
    return pieces


def _steps(segment: blocks.Segment) -> np.ndarray:
  """Returns step type, reward and not_done of the rows, [K, 3]."""
  columns = segment.step_types, segment.rewards, segment.not_done
  return np.stack(columns, axis=1).astype(np.float32)


def _ages(is_first: np.ndarray, age: int) -> np.ndarray:
  """Returns the steps since the start of each row's episode, [K].

  Args:
    is_first: [K].
    age: of the row before.
  """
  rows = np.arange(len(is_first))
  starts = np.where(is_first, rows, -1 - age)  # [K]
  return rows - np.maximum.accumulate(starts)


def _digest(segment: blocks.Segment) -> bytes:
  digest = hashlib.sha256(f'{segment.stream} {segment.call}'.encode())
  for values in segment[2:]:
    digest.update(np.ascontiguousarray(values).data)
  return digest.digest()
