"""A Reverb server in this process, with checkpoints in given directories."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import os
import shutil
import tempfile

import numpy as np
import reverb

from srdice_tf.replay import network

TABLE = 'experience'


class ExperienceServer:
  """One table; `save` and `restore` take the directory of the checkpoint."""

  def __init__(self, make_table: Callable[[str], reverb.Table]):
    """Starts the server.

    Args:
      make_table: takes a name and returns a new table; called again when a
        checkpoint is restored.
    """
    self._make_table = make_table
    self._start(None)

  def _start(self, checkpoint: str | None):
    # Reverb chooses the name of a checkpoint's directory itself: it writes into
    # a scratch directory, and `save` moves the result.
    self._scratch = tempfile.TemporaryDirectory(prefix='srdice_replay_')
    self._server = network.start_server(
        [self._make_table(TABLE)],
        checkpointer=reverb.platform.checkpointers_lib.DefaultCheckpointer(
            self._scratch.name, fallback_checkpoint_path=checkpoint
        ),
    )
    self._client = reverb.Client(f'localhost:{self._server.port}')

  @property
  def size(self) -> int:
    return self._client.server_info()[TABLE].current_size

  def save(self, directory: str):
    shutil.move(self._client.checkpoint(), os.path.join(directory, 'reverb'))

  def restore(self, directory: str):
    self.stop()
    self._start(os.path.join(directory, 'reverb'))

  def insert(self, arrays: list[np.ndarray], priority: float = 1.0):
    self._client.insert(arrays, {TABLE: priority})

  def insert_all(self, items: Iterable[tuple], priority: float):
    """Inserts items of one time step each."""
    with self._client.writer(max_sequence_length=1) as writer:
      for item in items:
        writer.append(list(item))
        writer.create_item(TABLE, 1, priority)

  def sample(self, num_items: int) -> list[reverb.replay_sample.ReplaySample]:
    """Returns items of one time step each, drawn by the table's sampler."""
    return [item[0] for item in self._client.sample(TABLE, num_items)]

  def update_priorities(self, priorities: dict[int, float]):
    self._client.mutate_priorities(TABLE, updates=priorities)

  def read_all(self) -> Iterator[list[np.ndarray]]:
    """Yields the items of a first-in-first-out table, oldest first."""
    # A Fifo sampler gives the oldest item each time: move it to the end.
    for _ in range(self.size):
      (sample,) = self.sample(1)
      self._client.mutate_priorities(TABLE, deletes=[sample.info.key])
      self.insert(sample.data)
      yield sample.data

  def stop(self):
    self._server.stop()
    self._scratch.cleanup()
