"""Clients of replay servers, in this process or on another machine."""

from collections.abc import Callable
import contextlib
import json
import math

import numpy as np
import reverb

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import waiting

_TIMEOUT_SECONDS = 30.0
_MAX_SAVES = 5
_CERTAINTY = 20.0
_LEAST_SAMPLES = 32
_BYTES_IN_FLIGHT = 2**23  # Of samples on their way; frames are megabytes.


class NoAnswerError(errors.UserError):
  """The replay server has died, hangs, or cannot be reached."""


# Writers whose server died. A thread may still be in one of their calls, so
# their destructors must not run.
_abandoned = []


class ReplayClient:
  """A Reverb client that never hangs and fails with one clear line."""

  def __init__(self, address: str, timeout: float = _TIMEOUT_SECONDS):
    """Connects to the server at `host:port`.

    Args:
      address: of the server.
      timeout: seconds to wait for an answer.

    Raises:
      UserError: if no replay server of this package answers there.
    """
    self.address = address
    self.timeout = timeout
    self.reverb = reverb.Client(address)
    self._sampling = self.reverb._client  # Whose samplers fetch ahead.
    missing = reverb_tables.NAMES - self.sizes().keys()
    if missing:
      raise errors.UserError(
          'reverb_address',
          address,
          f"that Reverb server has no table {', '.join(sorted(missing))}; start"
          f' it with {commands.name("replay_server")}',
      )

  @contextlib.contextmanager
  def guard(self):
    """Turns Reverb's errors into one line that names the server."""
    try:
      yield
    except (RuntimeError, TimeoutError, reverb.errors.ReverbError) as error:
      reason = (str(error).strip() or type(error).__name__).splitlines()[0]
      raise NoAnswerError(
          'reverb_address',
          self.address,
          f'the replay server does not answer ({reason}); what it had saved is'
          ' safe, start it again and repeat the command',
      ) from error

  def call(self, function: Callable, *args):
    """Returns what a call of Reverb returns, within the timeout."""
    with self.guard():
      return waiting.within(self.timeout, function, *args)

  def sizes(self) -> dict[str, int]:
    """Returns the number of items in each table."""
    return {name: table.current_size for name, table in self._info().items()}

  def capacity(self) -> int:
    """Returns how many transitions the server can hold."""
    segments = self._info()[reverb_tables.SEGMENTS]
    return reverb_tables.capacity_of(segments.max_size)

  def _info(self):
    # Reverb takes whole seconds. Its own timeout ends the waiting thread.
    return self.call(self.reverb.server_info, math.ceil(self.timeout))

  def checkpoint(self, place: str = ''):
    """Tells the server to save its tables.

    Gigabytes take longer than the timeout, so the wait goes on as long as the
    server answers other calls. Reverb fails if it has just finished a newer
    checkpoint for another client and removed the one it was writing: then this
    asks again.

    Args:
      place: what errors call the place of the checkpoint.

    Raises:
      UserError: if the server is gone, or cannot write.
    """
    for _ in range(_MAX_SAVES):
      try:
        waiting.within(
            self.timeout, self.reverb.checkpoint, is_alive=self.sizes
        )
        return
      except (RuntimeError, reverb.errors.ReverbError) as error:
        self.sizes()  # Fails if the server is gone.
        failure = error
    reason = str(failure).strip().splitlines()[0]
    raise errors.at(
        place or f'reverb_address={self.address}',
        f'the checkpoint could not be written ({reason})',
        'the last one is untouched',
    ) from failure

  def insert(self, table: str, data: np.ndarray, priority: float):
    """Inserts an array as one item; returns when the server has it."""
    # Reverb's own insert would wait forever for a server that has died. Each
    # item has a writer of its own, as a writer takes only arrays of one shape.
    with self.guard():
      writer = self.reverb.trajectory_writer(1, validate_items=False)
      writer.append(data)
      writer.create_item(table, priority, writer.history[-1])
    try:
      self.call(writer.flush, 0, math.ceil(1000 * self.timeout))
      self.call(writer.close)
    except NoAnswerError:
      _abandoned.append(writer)
      raise

  def put_metadata(self, metadata: dict):
    """Replaces the description of one collector's data."""
    older = [
        key
        for key, found in self._metadata_items()
        if found['collector'] == metadata['collector']
    ]
    text = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
    self.insert(reverb_tables.METADATA, text, priority=1.0)
    self.delete(reverb_tables.METADATA, older)

  def metadata(self) -> dict[int, dict]:
    """Returns the descriptions by collector."""
    # A collector that was killed in put_metadata has two: take the newer one.
    found = [description for _, description in self._metadata_items()]
    found.sort(key=lambda each: each.get('counts', {}).get('transitions', -1))
    return {each['collector']: each for each in found}

  def _metadata_items(self):
    return [
        (key, json.loads(data.tobytes()))
        for key, data in self.sample_all(
            reverb_tables.METADATA, replaced=True
        )
    ]

  def sample_all(
      self,
      table: str,
      delete: bool = False,
      replaced: bool = False,
      on_progress: Callable[[int, int], None] = lambda seen, size: None,
  ):
    """Yields each item of a table once, as (key, array).

    Reverb cannot list a table, so this samples until it has seen each item.
    For m items that takes about m (ln m + 0.6) samples. If items are deleted as
    they are seen, a quarter at a time, 1.2 m samples are enough.

    Others may go on writing meanwhile. Then this ends when an item that was
    there at the start has been missed with a chance below e^-20; items that
    came later may be among those seen, or not.

    Args:
      table: its name.
      delete: whether items are deleted; only if nobody else uses the table.
      replaced: whether others replace items, so that the number of those seen
        does not tell whether all were.
      on_progress: called with the numbers of items seen and of all items.
    """
    size = self.sizes()[table]
    seen, drawn, width = set(), 0, 1
    while drawn < size * (math.log(size + 1.0) + _CERTAINTY):
      missing = size - len(seen)
      if missing <= 0 and not replaced:
        return
      count = missing // 4 + 8 if delete else max(size, _LEAST_SAMPLES)
      new = []
      # The size of the first item says how many may be on their way at once.
      for info, data in self._draw(table, count if drawn else 1, width):
        drawn += 1
        width = int(np.clip(_BYTES_IN_FLIGHT // max(data.nbytes, 1), 1, 32))
        if not delete:
          size = max(size, info.table_size)
        if info.key not in seen:
          seen.add(info.key)
          new.append(info.key)
          yield info.key, data
          on_progress(len(seen), size)
          if len(seen) == size and not replaced:
            break
      if delete:  # Only now: an empty table cannot be sampled.
        self.delete(table, new)
        memory.give_back()

  def _draw(self, table: str, count: int, width: int):
    """Yields `count` samples, `width` of them at a time.

    Reverb's own Client.sample asks for one after the other, and each would have
    to wait for threads here and there: on a busy machine a millisecond.
    """
    sampler = self.call(self._sampling.NewSampler, table, count, width)
    take = lambda n: [sampler.GetNextTrajectory() for _ in range(n)]
    while count > 0:
      samples = self.call(take, min(count, width))
      count -= len(samples)
      for *info, data in samples:
        yield reverb.SampleInfo(*(part.item() for part in info)), data

  def delete(self, table: str, keys):
    self.call(self.reverb.mutate_priorities, table, None, list(keys))
