"""The replay server: Reverb's tables, kept in a dataset directory."""

import contextlib
import socket

import reverb

from srdice_tf import errors
from srdice_tf.replay import clients
from srdice_tf.replay import descriptions
from srdice_tf.replay import directories
from srdice_tf.replay import network
from srdice_tf.replay import reverb_files
from srdice_tf.replay import reverb_tables


class _Server(contextlib.AbstractContextManager):
  """A server that stops at the end of its context."""

  def stop(self):
    raise NotImplementedError

  def __exit__(self, *unused_error):
    self.stop()


class ReplayServer(_Server):
  """A Reverb server that keeps its tables in a dataset directory.

  Attributes:
    client: of the server.
    counts: the transitions and episodes that the directory holds.
  """

  def __init__(
      self,
      directory: directories.DatasetDirectory | None = None,
      capacity: int = 1_000_000,
      port: int | None = None,
      host: str = network.LOCALHOST,
  ):
    """Starts the server with what the directory holds, if anything.

    Args:
      directory: of the data set, which is locked until `stop`; None to keep
        the data in memory only.
      capacity: transitions it can hold; a saved data set keeps its capacity.
      port: to serve on; default: any free one.
      host: from where it can be reached, one of `network.HOSTS`.

    Raises:
      UserError: if the data set is damaged or in use, or if the port is in use.
    """
    self._directory = directory
    self._unnamed = None
    self.counts = {'transitions': 0, 'episodes': 0}
    with contextlib.ExitStack() as stack:
      checkpointer = None
      if directory is not None:
        directory.create()
        stack.enter_context(directory.lock())
        stack.callback(directory.tidy)
        checkpointer = self._recover()
      if port is not None:
        _check_free(port)
      self._server = self._start(capacity, port, checkpointer, host)
      stack.callback(self._server.stop)
      self.client = clients.ReplayClient(f'localhost:{self._server.port}')
      self._resources = stack.pop_all()

  def _recover(self):
    """Returns the checkpointer that loads what the directory holds."""
    loaded, is_named = self._directory.recover()
    if loaded:
      self.counts = reverb_files.counts(loaded)
    if not is_named:
      self._unnamed = loaded
    return reverb.platform.checkpointers_lib.DefaultCheckpointer(
        self._directory.unfinished_path, fallback_checkpoint_path=loaded
    )

  def _start(self, capacity, port, checkpointer, host) -> reverb.Server:
    try:
      return network.start_server(
          reverb_tables.make_tables(capacity), port, checkpointer, host
      )
    except RuntimeError as error:
      if not self._unnamed:
        raise
      # All others have checksums. A machine that crashed has left this one.
      raise errors.at(
          self._unnamed,
          f'Reverb cannot read it ({error})',
          'move it elsewhere to go on with what was saved before',
      ) from error

  @property
  def port(self) -> int:
    return self._server.port

  def save(self):
    """Checkpoints the tables and describes them in dataset.json."""
    if self._directory is None:
      return
    self.client.checkpoint(self._directory.path)
    self.adopt_checkpoint()

  def ensure_saved(self):
    """Saves what dataset.json does not describe yet."""
    self.adopt_checkpoint()

  def adopt_checkpoint(self):
    """Describes a checkpoint that a collector or a killed server left."""
    if self._directory is None:
      return
    newest = self._directory.newest_unfinished()
    checkpoint = self._directory.take(newest) if newest else self._unnamed
    if not checkpoint:
      return
    self.counts = reverb_files.counts(checkpoint)
    description = descriptions.describe(
        self.client.metadata().values(), self.counts
    )
    self._directory.commit(checkpoint, description)
    if self._unnamed and self._unnamed != checkpoint:
      self._directory.remove(self._unnamed)
    self._unnamed = None

  def stop(self):
    """Stops serving and unlocks the directory."""
    self._resources.close()


class RemoteServer(_Server):
  """A replay server that runs elsewhere and keeps its own directory."""

  def __init__(self, address: str, timeout: float):
    """Connects to it; `timeout` in seconds.

    Raises:
      UserError: if nothing answers there.
    """
    self.client = clients.ReplayClient(address, timeout)

  def save(self):
    """Tells the server to save; it writes its own dataset.json."""
    self.client.checkpoint()

  def ensure_saved(self):
    """Saves, as there is no way to know what the server has saved."""
    self.save()

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
          'port', port, f'{error.strerror}; choose another port'
      ) from error
