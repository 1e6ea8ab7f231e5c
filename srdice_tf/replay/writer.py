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
# Rows in a chunk, Reverb's unit of compression: many small rows, few frames, of
# which a sampled item would have to unpack all.
_CHUNK_LENGTH, _FRAME_CHUNK_LENGTH = 50, 5


class BatchWriter:
  """A transition observer for TF-Agents' PyDriver over B environments.

  It stores the first `num_transitions` transitions in the order (call,
  environment) and ignores what comes after. Frames are stored once: the items
  refer to the frames of their stacks.
  """

  def __init__(
      self,
      client: client_lib.ReplayClient,
      num_envs: int,
      frame_stack: int,
      num_action_values: int,
      num_transitions: int,
      collector: int = 0,
  ):
    """Opens one Reverb writer for each environment.

    Args:
      client: of the replay server.
      num_envs: B.
      frame_stack: frames in an observation, 0 if it is no stack.
      num_action_values: A, numbers in an action.
      num_transitions: how many to store, those of earlier runs included.
      collector: tells apart several collectors that fill one server.
    """
    self._client = client
    self._frame_stack = frame_stack
    self._num_action_values = num_action_values
    self._collector = collector
    self._limit = num_transitions
    self._stored_calls = np.full(num_envs, -1)
    self._slots = [_Slot(client, frame_stack) for _ in range(num_envs)]
    self._padding = np.zeros(rows.ACTION + num_action_values)
    self._padding[rows.STEP_TYPE] = rows.PADDING
    self.statistics = statistics.Statistics(num_envs)
    self.call = 0

  @property
  def full(self) -> bool:
    return self.statistics.num_transitions >= self._limit

  def begin(self, time_step, stored_calls: Sequence[int] = ()):
    """Stores row 0 of a new data set: the first start states."""
    if len(stored_calls):
      self._stored_calls = np.asarray(stored_calls)
    actions = np.zeros((len(self._slots), self._num_action_values))
    with self._client.guard():
      self._write(time_step, actions)

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
    self._stored_calls = np.asarray(stored_calls)
    for i, steps in enumerate(stored_steps):
      types, rewards = steps[:, rows.STEP_TYPE], steps[:, rows.REWARD]
      for step_type, reward in zip(types.tolist(), rewards.tolist()):
        self.statistics.add(i, step_type, reward)
    with self._client.guard():
      for slot, observation in zip(self._slots, time_step.observation):
        for frame in self._history_of(observation):
          slot.append(frame, self._padding)

  def __call__(self, transition):
    """Stores the rows of the time step that a step of the driver led to."""
    _, action_step, next_time_step = transition
    if self.full:
      return
    self.call += 1
    with self._client.guard():
      self._write(next_time_step, action_step.action)
      if any(slot.num_open >= SEGMENT_LENGTH for slot in self._slots):
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

  def _write(self, time_step, actions):
    steps = rows.pack(self._collector, self.call, time_step, actions)
    frames = rows.newest(time_step.observation, self._frame_stack)
    step_types = time_step.step_type.tolist()
    rewards = time_step.reward.tolist()
    for i, slot in enumerate(self._slots):
      if self.full:
        return
      is_first = step_types[i] == rows.FIRST
      self.statistics.add(i, step_types[i], rewards[i])
      if is_first and self._frame_stack:
        for frame in self._history_of(time_step.observation[i])[:-1]:
          slot.append(frame, self._padding)
      if self.call <= self._stored_calls[i]:
        slot.append(frames[i], self._padding)
        continue
      slot.append(frames[i], steps[i])
      slot.create_item(tables.INITIAL_STATES if is_first else tables.TRANSITIONS)

  def _history_of(self, observation):
    """Returns the rows that make up an observation, oldest first."""
    if not self._frame_stack:
      return [observation]
    return np.moveaxis(observation, -1, 0)  # [stack, H, W]

  def _close_segments(self):
    for slot in self._slots:
      slot.close_segment()
    self._flush(_MAX_PENDING_ITEMS)

  def _flush(self, max_pending_items: int):
    for slot in self._slots:
      slot.writer.flush(max_pending_items, int(1000 * self._client.timeout))


class _Slot:
  """The Reverb writer of one environment."""

  def __init__(self, client: client_lib.ReplayClient, frame_stack: int):
    # An episode's first row comes with up to `frame_stack` rows of padding.
    keep = SEGMENT_LENGTH + 2 * frame_stack + 2
    self.writer = client.reverb.trajectory_writer(num_keep_alive_refs=keep)
    for column in ('observation', 'step'):
      self.writer.configure(
          (column,),
          num_keep_alive_refs=keep,
          max_chunk_length=_FRAME_CHUNK_LENGTH
          if frame_stack and column == 'observation'
          else _CHUNK_LENGTH,
      )
    self._stack = max(frame_stack, 1)
    self._columns = None
    self.num_open = 0

  def append(self, observation, step):
    self.writer.append({'observation': observation, 'step': step})
    if self._columns is None:
      # The columns stay the same objects; to ask for them each time is slow.
      history = self.writer.history
      self._columns = history['observation'], history['step']
    self.num_open += 1

  def create_item(self, table: str):
    """Creates the item of the row that was just appended."""
    observations, steps = self._columns
    # A transition also holds the observation it came from.
    length = self._stack + (table == tables.TRANSITIONS)
    self.writer.create_item(
        table,
        priority=1.0,
        trajectory={'observation': observations[-length:], 'step': steps[-1]},
    )

  def close_segment(self):
    """Puts the rows since the last segment into one."""
    if not self.num_open:
      return
    observations, steps = self._columns
    self.writer.create_item(
        tables.SEGMENTS,
        priority=1.0,
        trajectory={
            'observation': observations[-self.num_open :],
            'step': steps[-self.num_open :],
        },
    )
    self.num_open = 0
