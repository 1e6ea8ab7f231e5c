"""Writes what a driver sees of a batch of environments into Reverb."""

from collections.abc import Sequence

import numpy as np

from srdice_tf.replay import clients
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec
from srdice_tf.replay import row_statistics

# Most rows in an item of the table of segments. With long segments there are
# few, so that reading all by uniform sampling repeats little.
SEGMENT_LENGTH = 500


class BatchWriter:
  """A transition observer for TF-Agents' PyDriver over B environments.

  It stores the first `num_transitions` transitions in the order (call,
  environment) and ignores later ones. The rows of an environment are sent as
  whole segments, so a collector that is killed leaves nothing half written.
  """

  def __init__(
      self,
      client: clients.ReplayClient,
      codec: row_codec.Codec,
      num_envs: int,
      num_transitions: int,
      collector: int = 0,
  ):
    """Starts with nothing stored.

    Args:
      client: of the replay server.
      codec: that packs the rows.
      num_envs: B.
      num_transitions: how many to store, those of earlier runs included.
      collector: its number, if several fill one server.
    """
    self._client = client
    self._codec = codec
    self._collector = collector
    self._limit = num_transitions
    self._stored_calls = [-1] * num_envs
    self._open_rows = [[] for _ in range(num_envs)]
    self.statistics = row_statistics.RowStatistics(num_envs)
    self.call = 0

  @property
  def full(self) -> bool:
    return self.statistics.num_transitions >= self._limit

  def begin(self, time_step, stored_calls: Sequence[int] = ()):
    """Stores row 0 of a new data set: the first start states."""
    if len(stored_calls):
      self._stored_calls = np.asarray(stored_calls).tolist()
    self._write(time_step)

  def resume(
      self,
      call: int,
      stored_calls: Sequence[int],
      stored_steps: Sequence[np.ndarray],
  ):
    """Continues after row `call`, which is already stored.

    Args:
      call: the number of that row.
      stored_calls: for each environment the number of its last stored row;
        rows up to there are not stored again.
      stored_steps: for each environment its step vectors up to row `call`.
    """
    self.call = call
    self._stored_calls = np.asarray(stored_calls).tolist()
    for i, steps in enumerate(stored_steps):
      types, rewards = steps[:, row_codec.STEP_TYPE], steps[:, row_codec.REWARD]
      for step_type, reward in zip(types.tolist(), rewards.tolist()):
        self.statistics.add(i, step_type, reward)

  def __call__(self, transition):
    """Stores the rows of the time step that a step of the driver led to."""
    _, action_step, next_time_step = transition
    if self.full:
      return
    self.call += 1
    self._write(next_time_step, action_step.action)
    if max(map(len, self._open_rows)) >= SEGMENT_LENGTH:
      self.flush()

  def flush(self):
    """Sends what is not sent yet; returns when the server has it."""
    for open_rows in self._open_rows:
      if open_rows:
        self._send(np.stack(open_rows))
        open_rows.clear()

  def _write(self, time_step, actions=None):
    new_rows = self._codec.pack(self._collector, self.call, time_step, actions)
    step_types = time_step.step_type.tolist()
    rewards = time_step.reward.tolist()
    room = self._limit - self.statistics.num_transitions
    for i, open_rows in enumerate(self._open_rows):
      if step_types[i] != row_codec.FIRST:
        if not room:
          return
        room -= 1
      self.statistics.add(i, step_types[i], rewards[i])
      if self.call > self._stored_calls[i]:
        open_rows.append(new_rows[i])

  def _send(self, segment: np.ndarray):
    """Sends the rows [K, bytes] as one item."""
    step_types = self._codec.steps(segment)[:, row_codec.STEP_TYPE]
    num_starts = int(np.sum(step_types == row_codec.FIRST))
    priority = reverb_tables.priority_of(len(segment) - num_starts, num_starts)
    self._client.insert(reverb_tables.SEGMENTS, segment, priority)
