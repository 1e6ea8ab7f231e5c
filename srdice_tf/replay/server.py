"""The replay server: Reverb's tables, kept in a dataset directory."""

import os
import socket

import reverb

from srdice_tf import errors
from srdice_tf.replay import client as client_lib
from srdice_tf.replay import directory as directory_lib
from srdice_tf.replay import tables


class ReplayServer:
  """A Reverb server whose tables are those of a dataset directory."""

  def __init__(
      self,
      directory: directory_lib.DatasetDirectory | None = None,
      capacity: int = 1_000_000,
      port: int | None = None,
  ):
    """Starts the server with what the directory holds, if anything.

    Args:
      directory: of the data set; None keeps it in memory only.
      capacity: transitions it may hold; a saved data set keeps its own.
      port: to serve on, default any free one.

    Raises:
      UserError: if the data set is damaged or the port is in use.
    """
    self._directory = directory
    checkpointer = None
    if directory is not None:
      directory.create()
      if directory.exists():
        directory.verify()
      directory.remove_others()
      checkpointer = reverb.platform.checkpointers_lib.DefaultCheckpointer(
          directory.replay_path
      )
    if port is not None:
      _check_free(port)
    self._server = reverb.Server(
        tables.make_tables(capacity), port, checkpointer
    )
    self.client = client_lib.ReplayClient(f'localhost:{self._server.port}')

  @property
  def port(self) -> int:
    return self._server.port

  def save(self, description: dict):
    """Checkpoints the tables and describes them in dataset.json."""
    try:
      checkpoint = self.client.reverb.checkpoint()
    except (RuntimeError, reverb.errors.ReverbError) as error:
      reason = str(error).strip().splitlines()[0]
      raise errors.UserError(
          f'{self._directory.replay_path}: the checkpoint could not be written'
          f' ({reason}); the last one is untouched.'
      ) from error
    self._directory.commit(os.path.normpath(checkpoint), description)

  def adopt_checkpoint(self):
    """Describes a checkpoint that a collector elsewhere asked for."""
    checkpoint = self._directory.newest_unnamed()
    if checkpoint:
      self._directory.commit(checkpoint, self.description())

  def description(self) -> dict:
    """Returns what the collectors say of their data, as one data set."""
    collectors = list(self.client.metadata().values())
    sizes = self.client.sizes()
    asked = sum(each['num_transitions'] for each in collectors)
    is_complete = sizes[tables.TRANSITIONS] == asked > 0
    return {
        **(collectors[0] if len(collectors) == 1 else {}),
        'environment': collectors[0]['environment'] if collectors else None,
        'num_transitions': asked,
        'collectors': collectors,
        'status': directory_lib.COMPLETE
        if is_complete
        else directory_lib.COLLECTING,
        'counts': {
            'transitions': sizes[tables.TRANSITIONS],
            'episodes': sizes[tables.INITIAL_STATES],
        },
    }

  def stop(self):
    self._server.stop()


class RemoteServer:
  """A replay server that runs elsewhere and keeps its own directory."""

  def __init__(self, address: str, timeout: float):
    """Connects to it; `timeout` in seconds.

    Raises:
      UserError: if nothing answers there.
    """
    self.client = client_lib.ReplayClient(address, timeout)

  def save(self, description: dict):
    del description  # The server writes its own dataset.json.
    self.client.checkpoint()

  def stop(self):
    """Leaves it running: others may use it."""


def _check_free(port: int):
  """Raises an error if the port is taken; Reverb would end the process."""
  with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
      probe.bind(('', port))
    except OSError as error:
      raise errors.UserError(
          f'--port={port}: {error.strerror}; choose another port.'
      ) from error
