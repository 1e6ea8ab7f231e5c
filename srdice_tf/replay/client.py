"""The client's side of a replay server, here or elsewhere."""

import contextlib
import json

import numpy as np
import reverb

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.replay import tables

_TIMEOUT_SECONDS = 30.0


class ReplayClient:
  """A Reverb client whose failures are one clear line."""

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
    missing = {tables.TRANSITIONS, tables.METADATA} - self.sizes().keys()
    if missing:
      raise errors.UserError(
          f'--reverb_address={address}: that Reverb server has no table'
          f" {', '.join(sorted(missing))}; start it with"
          ' binaries/replay_server.py.'
      )

  @contextlib.contextmanager
  def guard(self):
    """Turns Reverb's errors into one line that names the server."""
    try:
      yield
    except (RuntimeError, reverb.errors.ReverbError) as error:
      reason = str(error).strip().splitlines()[0]
      raise errors.UserError(
          f'--reverb_address={self.address}: the replay server does not answer'
          f' ({reason}); what it had saved is safe, start it again and repeat'
          ' the command.'
      ) from error

  def sizes(self) -> dict[str, int]:
    """Returns the number of items in each table."""
    with self.guard():
      info = self.reverb.server_info(timeout=self._seconds())
    return {name: table.current_size for name, table in info.items()}

  def capacity(self) -> int:
    """Returns how many transitions the server can hold."""
    with self.guard():
      info = self.reverb.server_info(timeout=self._seconds())
    return info[tables.TRANSITIONS].max_size

  def _seconds(self) -> int:
    return max(1, round(self.timeout))

  def checkpoint(self) -> str:
    """Has the server save its tables; returns where, on its machine."""
    with self.guard():
      return self.reverb.checkpoint()

  def put_metadata(self, metadata: dict):
    """Describes the data of one collector."""
    text = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
    with self.guard():
      self.reverb.insert([text], priorities={tables.METADATA: 1.0})

  def metadata(self) -> dict[int, dict]:
    """Returns the descriptions by collector."""
    found = {}
    for _, data in self.sample_all(tables.METADATA):
      description = json.loads(data.tobytes())
      found[description['collector']] = description
    return found

  def sample_all(self, table: str, delete: bool = False):
    """Yields each item of a table once, as (key, array).

    Reverb has no way to list a table, so items are sampled until each was
    seen. For m items that takes about m (ln m + 0.6) samples: good for the
    few items of segments and metadata, not for single transitions. If items
    are deleted as they are seen, a quarter at a time, 1.2 m samples will do.
    """
    size = self.sizes()[table]
    seen = set()
    # Each missing item escapes with probability e^-30.
    allowed = int(size * (np.log(size + 1.0) + 30.0)) + 1
    while len(seen) < size and allowed > 0:
      missing = size - len(seen)
      count = min(allowed, (missing // 4 if delete else missing) + 8)
      allowed -= count
      new = []
      with self.guard():
        for item in self.reverb.sample(table, count, emit_timesteps=False):
          if item.info.key not in seen:
            seen.add(item.info.key)
            new.append(item.info.key)
            yield item.info.key, item.data[0]
      if delete:  # Not before: who samples an empty table waits for ever.
        self.delete(table, new)
        memory.give_back()

  def delete(self, table: str, keys):
    with self.guard():
      self.reverb.mutate_priorities(table, deletes=list(keys))

  def clear(self, table: str):
    with self.guard():
      self.reverb.reset(table)
