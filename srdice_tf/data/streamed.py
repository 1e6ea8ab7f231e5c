"""Logged data that are read again and again, and never all in memory."""

from collections.abc import Iterator
import contextlib
from typing import Protocol

import numpy as np
import tensorflow as tf

from srdice_tf import memory
from srdice_tf.data import blocks
from srdice_tf.data import datasets
from srdice_tf.data import feeding
from srdice_tf.data import scratch_files
from srdice_tf.data import segment_index
from srdice_tf.data import spooled
from srdice_tf.data import stacking
from srdice_tf.data import windows

_WINDOW_BYTES = 128 * 2**20
_MAX_SLOTS = 128
_PART_SIZE = 50_000  # Transitions of streamed data that are kept in memory.


class SegmentSource(Protocol):
  """Where segments come from.

  Attributes:
    where: what errors call it.
    frame_stack: frames in an observation; 0 if a row is an observation.
    num_bytes: size of all segments.
  """

  where: str
  frame_stack: int
  num_bytes: int

  def segments(self) -> Iterator[blocks.Segment]:
    """Yields each segment once, in any order."""

  def endless(self) -> Iterator[blocks.Segment]:
    """Yields segments drawn uniformly, again and again."""


class StreamedDataset:
  """What a source holds, as a data set.

  Columns with one number for each transition are in files that are mapped into
  memory. All else comes block by block: by a pass (`each_block`), which visits
  each transition once, or at random (`sampler`), drawn by the source. The first
  pass copies the segments to a file for further ones, where the disk has room.

  Attributes:
    rewards: [n] float32.
    not_done: [n] float32, 0 where the transition ends in a terminal state.
    episodes: [n] int32.
    steps: [n] int32.
    scratch: where further columns can be kept.
    frame_stack: frames in an observation, or 0.
  """

  log_probabilities = None

  def __init__(self, source: SegmentSource, directory: str | None = None):
    """Passes over the data once.

    Args:
      source: of the segments.
      directory: for the columns; None for the system's place for such files.

    Raises:
      UserError: if the data are damaged, or the source fails.
    """
    self.scratch = scratch_files.Scratch(directory)
    self.frame_stack = source.frame_stack
    self._source = spooled.SpooledSegments(source, self.scratch)
    self._index = segment_index.SegmentIndex(
        self._source.segments(), self.overlap, self.scratch, source.where
    )
    self._kept = None  # [m] which episodes, in a part of the data.
    self._thin = {}
    self._samplers = []  # Also of parts of the data.
    self._set_columns(*(
        getattr(self._index, name)
        for name in ('rewards', 'not_done', 'episodes', 'steps', 'starts')
    ))

  def _set_columns(self, rewards, not_done, episodes, steps, starts):
    self.rewards, self.not_done, self.episodes, self.steps = map(
        memory.as_tensor, (rewards, not_done, episodes, steps)
    )
    self.start_data = _start_data(starts, self.frame_stack)

  @property
  def overlap(self) -> int:
    """Rows that a state may need: its own, and those of its stack."""
    return max(self.frame_stack, 1)

  @property
  def num_transitions(self) -> int:
    return len(self.rewards)

  @property
  def num_initial_states(self) -> int:
    """m, the number of episodes."""
    return self.start_data.num_initial_states

  def checksum(self) -> str:
    """Returns a hash of all contents; other data have another one."""
    return f'streamed {self._index.checksum}'

  def each_block(self) -> Iterator[blocks.Block]:
    """Passes over the data: yields each transition once, in any order."""
    found = map(self._block, self._source.segments())
    return filter(lambda block: block.size, found)

  def _block(self, segment: blocks.Segment) -> blocks.Block:
    block = self._index.block(segment)
    if self._kept is None:
      return block
    block = block.only(self._kept[block.episodes])
    return block._replace(
        index=np.asarray(self._numbers[block.index]),
        episodes=self._episode_numbers[block.episodes],
    )

  def of_episodes(self, episodes: np.ndarray) -> 'StreamedDataset':
    """Returns the data of these episodes only, numbered from 0 in order.

    Args:
      episodes: their numbers, ascending.
    """
    if self._kept is not None:  # In numbers of the whole.
      episodes = np.flatnonzero(self._kept)[episodes]
    part = StreamedDataset.__new__(StreamedDataset)
    part.__dict__.update(self.__dict__, _thin={})
    index = self._index
    part._kept = np.zeros(len(index.starts), bool)
    part._kept[episodes] = True
    part._episode_numbers = np.cumsum(part._kept) - 1  # [m]
    is_kept = part._kept[index.episodes]  # [n]
    part._numbers = self.scratch.empty(is_kept.shape, np.int32)
    part._numbers[:] = np.cumsum(is_kept) - 1
    part._set_columns(
        index.rewards[is_kept],
        index.not_done[is_kept],
        part._episode_numbers[index.episodes[is_kept]].astype(np.int32),
        index.steps[is_kept],
        index.starts[part._kept],
    )
    return part

  @property
  def form(self) -> windows.BlockForm:
    """The form of padded blocks."""
    index = self._index
    num_rows = index.longest + self.overlap
    return windows.BlockForm(num_rows, index.starts, index.no_actions)

  def loaded(self) -> windows.Window:
    """Returns a window for one block at a time, for passes."""
    return windows.Window(self.form, 1, self.frame_stack, self.start_data)

  def sampler(self) -> 'SampledWindow':
    """Returns a window of blocks that come at random, until `close`."""
    self._samplers.append(SampledWindow(self))
    return self._samplers[-1]

  def close(self):
    """Ends the threads that read ahead, before the source ends."""
    while self._samplers:
      self._samplers.pop().stop()

  def endless(self) -> Iterator[list[np.ndarray]]:
    """Yields padded blocks that are drawn uniformly."""
    form = self.form
    for segment in self._source.endless():
      block = self._block(segment)
      if block.size:
        yield form.pad(block)

  def num_slots(self) -> int:
    """Returns how many blocks a sampler holds."""
    size = sum(
        int(np.prod(shape)) * dtype.size
        for shape, dtype in zip(self.form.shapes, self.form.dtypes)
    )
    most = min(_WINDOW_BYTES // size, _MAX_SLOTS, 4 * self._index.num_segments)
    return max(int(most), 2)

  def thinned(self, every: int) -> datasets.Dataset:
    """Returns every k-th transition, from the first on, and all episodes.

    In memory, by a pass over the data, once for each k.
    """
    if every not in self._thin:
      self._thin[every] = _thinned(self, every)
    return self._thin[every]


class SampledWindow(windows.Window):
  """Blocks at random: a data set to draw minibatches from."""

  def __init__(self, stream: StreamedDataset):
    """Waits for nothing yet; the first minibatch does."""
    super().__init__(
        stream.form, stream.num_slots(), stream.frame_stack, stream.start_data
    )
    object.__setattr__(self, '_stream', stream)
    object.__setattr__(self, '_feeder', None)

  def sample(self, batch_size, rng):
    """Returns transitions drawn uniformly with replacement."""
    self._start()
    self.refill(self._feeder.take, batch_size)
    return self.batch(self.draw(batch_size, rng))

  def _start(self):
    """Fills all slots, outside of the function that may be traced."""
    if self._feeder is not None:
      return
    form = self._form
    with tf.init_scope():
      feeder = feeding.Feeder(self._stream.endless, form.dtypes, form.shapes)
      object.__setattr__(self, '_feeder', feeder)
      with self.guard():
        for slot in range(self.num_slots):
          self.put(feeder.take(), slot)

  @contextlib.contextmanager
  def guard(self):
    """Lets a dead source be one clear error."""
    try:
      yield
    except tf.errors.OpError as error:
      # Only now: the thread that reads may have been started meanwhile.
      if self._feeder is not None:
        self._feeder.explain(error)
      raise

  def stop(self):
    """Reads no more."""
    if self._feeder is not None:
      self._feeder.stop()


def in_memory(dataset) -> datasets.Dataset:
  """Returns a data set itself, or of a streamed one a part, evenly spaced."""
  if not isinstance(dataset, StreamedDataset):
    return dataset
  return dataset.thinned(-(-dataset.num_transitions // _PART_SIZE))


def _start_data(starts: np.ndarray, frame_stack: int) -> datasets.Dataset:
  """Returns a data set that has only start states [m, ...]."""
  none = tf.zeros([0], tf.int32)
  return datasets.Dataset(
      observations=stacking.Observations(
          starts, np.zeros(len(starts)), frame_stack
      ),
      positions=none,
      starts=tf.range(len(starts)),
      actions=none,
      rewards=none,
      not_done=none,
      episodes=none,
      steps=none,
  )


def _thinned(stream: StreamedDataset, every: int) -> datasets.Dataset:
  size = -(-stream.num_transitions // every)
  width = stream.overlap + 1  # Rows of a transition.
  starts = stream.start_data.observations.rows
  shape, dtype = starts.shape[1:], starts.dtype.as_numpy_dtype
  rows = memory.aligned_empty((size * width + len(starts), *shape), dtype)
  ages = np.zeros(len(rows), np.int32)
  rows[size * width :] = starts
  actions = None
  for block in stream.each_block():
    block = block.only(block.index % every == 0)
    places = block.index // every  # [c]
    if actions is None:
      kind = block.actions
      actions = np.zeros((size, *kind.shape[1:]), kind.dtype)
    actions[places] = block.actions
    taken = block.positions[:, None] + np.arange(2 - width, 2)  # [c, width]
    taken = np.maximum(taken, 0)  # From before the start: not used.
    into = places[:, None] * width + np.arange(width)  # [c, width]
    rows[into] = block.rows[taken]
    ages[into] = block.ages[taken]
  column = lambda values: tf.constant(values.numpy()[::every])
  return datasets.Dataset(
      observations=stacking.Observations(rows, ages, stream.frame_stack),
      positions=tf.range(size) * width + width - 2,
      starts=size * width + tf.range(len(starts)),
      actions=tf.constant(actions),
      rewards=column(stream.rewards),
      not_done=column(stream.not_done),
      episodes=column(stream.episodes),
      steps=column(stream.steps),
  )
