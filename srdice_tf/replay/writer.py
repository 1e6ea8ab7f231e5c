"""Writes what a driver sees of a batch of environments into Reverb."""

from collections.abc import Sequence

import numpy as np

from srdice_tf.replay import client as client_lib
from srdice_tf.replay import rows
from srdice_tf.replay import statistics
from srdice_tf.replay import tables

# Rows of one environment in an item of the table of segments. Long ones are
# few, so reading all of them by uniform sampling repeats little.
SEGMENT_LENGTH = 500
_FLUSH_EVERY = 100
_MAX_PENDING_ITEMS = 200
# Size of a chunk, Reverb's unit of compression: many small rows, few frames, of
# which a sampled item would have to unpack all.
_MAX_CHUNK_LENGTH, _CHUNK_BYTES = 40, 40_000


class BatchWriter:
  """A transition observer for TF-Agents' PyDriver over B environments.

  It stores the first `num_transitions` transitions in the order (call,
  environment) and ignores what comes after. Frames are stored once: the items
  refer to the frames of their stacks.
  """

  def __init__(
      self,
      client: client_lib.ReplayClient,
      codec: rows.Codec,
      num_envs: int,
      num_transitions: int,
      collector: int = 0,
  ):
    """Opens one Reverb writer for each environment.

    Args:
      client: of the replay server.
      codec: that packs the rows.
      num_envs: B.
      num_transitions: how many to store, those of earlier runs included.
      collector: tells apart several collectors that fill one server.
    """
    self._client = client
    self._codec = codec
    self._collector = collector
    self._limit = num_transitions
    self._stored_calls = [-1] * num_envs
    self._slots = [_Slot(client, codec) for _ in range(num_envs)]
    self.statistics = statistics.Statistics(num_envs)
    self.call = 0

  @property
  def full(self) -> bool:
    return self.statistics.num_transitions >= self._limit

  def begin(self, time_step, stored_calls: Sequence[int] = ()):
    """Stores row 0 of a new data set: the first start states."""
    if len(stored_calls):
      self._stored_calls = np.asarray(stored_calls).tolist()
    with self._client.guard():
      self._write(time_step)

  def resume(
      self,
      time_step,
      call: int,
      stored_calls: Sequence[int],
      stored_steps: Sequence[np.ndarray],
  ):
    """Goes on behind row `call`, which is stored already.

    Args:
      time_step: the time step of row `call`.
      call: the number of that row.
      stored_calls: for each environment the number of its last stored row;
        rows up to there are not stored again.
      stored_steps: for each environment its step vectors up to row `call`.
    """
    self.call = call
    self._stored_calls = np.asarray(stored_calls).tolist()
    for i, steps in enumerate(stored_steps):
      types, rewards = steps[:, rows.STEP_TYPE], steps[:, rows.REWARD]
      for step_type, reward in zip(types.tolist(), rewards.tolist()):
        self.statistics.add(i, step_type, reward)
    with self._client.guard():
      for slot, observation in zip(self._slots, time_step.observation):
        for row in self._codec.padding(observation):
          slot.append(row)

  def __call__(self, transition):
    """Stores the rows of the time step that a step of the driver led to."""
    _, action_step, next_time_step = transition
    if self.full:
      return
    self.call += 1
    with self._client.guard():
      self._write(next_time_step, action_step.action)
      if max(slot.num_open for slot in self._slots) >= SEGMENT_LENGTH:
        self._close_segments()
      elif self.call % _FLUSH_EVERY == 0:
        self._flush(_MAX_PENDING_ITEMS)

  def flush(self):
    """Blocks until the server has every row, each in a segment."""
    with self._client.guard():
      self._close_segments()
      self._flush(0)

  def close(self):
    for slot in self._slots:
      slot.writer.close()

  def _write(self, time_step, actions=None):
    new_rows = self._codec.pack(self._collector, self.call, time_step, actions)
    step_types = time_step.step_type.tolist()
    rewards = time_step.reward.tolist()
    statistics_ = self.statistics
    room = self._limit - statistics_.num_transitions
    for i, slot in enumerate(self._slots):
      step_type = step_types[i]
      if step_type != rows.FIRST:
        if not room:
          return
        room -= 1
      statistics_.add(i, step_type, rewards[i])
      if step_type == rows.FIRST and self._codec.frame_stack:
        # All but the newest frame of a start state: zeros.
        for row in self._codec.padding(time_step.observation[i])[:-1]:
          slot.append(row)
      if self.call <= self._stored_calls[i]:
        slot.append(self._codec.padding(time_step.observation[i])[-1])
      elif step_type == rows.FIRST:
        slot.append(new_rows[i])
        slot.create_item(tables.INITIAL_STATES)
      else:
        slot.append(new_rows[i])
        slot.create_item(tables.TRANSITIONS)

  def _close_segments(self):
    for slot in self._slots:
      slot.close_segment()
    self._flush(_MAX_PENDING_ITEMS)

  def _flush(self, max_pending_items: int):
    for slot in self._slots:
      slot.writer.flush(max_pending_items, int(1000 * self._client.timeout))


class _Slot:
  """The Reverb writer of one environment."""

  def __init__(self, client: client_lib.ReplayClient, codec: rows.Codec):
    # An episode's first row comes with up to `frame_stack` rows of padding.
    keep = SEGMENT_LENGTH + 2 * codec.frame_stack + 2
    self.writer = client.reverb.trajectory_writer(num_keep_alive_refs=keep)
    self.writer.configure(
        (),
        num_keep_alive_refs=keep,
        max_chunk_length=min(
            _MAX_CHUNK_LENGTH, max(1, _CHUNK_BYTES // codec.row_bytes)
        ),
    )
    stack = max(codec.frame_stack, 1)
    # A transition also holds the observation it came from.
    self._lengths = {
        tables.INITIAL_STATES: stack,
        tables.TRANSITIONS: stack + 1,
    }
    self._history = None
    self.num_open = 0

  def append(self, row: np.ndarray):
    self.writer.append(row)
    if self._history is None:
      # It stays the same object; to ask for it each time is slow.
      self._history = self.writer.history
    self.num_open += 1

  def create_item(self, table: str):
    """Creates the item of the row that was just appended."""
    rows_of_item = self._history[-self._lengths[table] :]
    self.writer.create_item(table, 1.0, rows_of_item)

  def close_segment(self):
    """Puts the rows since the last segment into one."""
    if self.num_open:
      rows_of_segment = self._history[-self.num_open :]
      self.writer.create_item(tables.SEGMENTS, 1.0, rows_of_segment)
      self.num_open = 0
