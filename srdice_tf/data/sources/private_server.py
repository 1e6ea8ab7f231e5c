"""Data that a server in another process loads, for this one to stream."""

import contextlib
import os
import pickle
import subprocess
import sys

from srdice_tf import errors
from srdice_tf.data import logged
from srdice_tf.data.sources import collected
from srdice_tf.data.sources import served_segments
from srdice_tf.replay import clients
from srdice_tf.replay import directories
from srdice_tf.replay import row_codec

_MODULE = 'srdice_tf.data.sources.data_server'
_ROOT = os.path.abspath(__file__).rsplit(os.sep, 4)[0]  # Of the package.


class PrivateServer(contextlib.AbstractContextManager):
  """A process that serves data to this one, and ends with it.

  Attributes:
    client: of the server.
    answer: what it says of the data.
    process_id: of the server.
  """

  def __init__(self, timeout: float, request: dict):
    """Waits until the data are loaded.

    Args:
      timeout: seconds to wait for answers, once the data are loaded.
      request: see `data_server`.

    Raises:
      UserError: if the data cannot be used.
    """
    paths = [_ROOT, *filter(None, [os.environ.get('PYTHONPATH')])]
    self._process = subprocess.Popen(
        [sys.executable, '-m', _MODULE, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,  # Ctrl-C is for this process, also as that one starts.
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)},
    )
    self.process_id = self._process.pid
    with contextlib.ExitStack() as stack:
      stack.callback(self.stop)
      pickle.dump(request, self._process.stdin)
      self._process.stdin.flush()
      self.answer = self._read()
      address = f'localhost:{self.answer["port"]}'
      self.client = clients.ReplayClient(address, timeout)
      stack.pop_all()

  def _read(self) -> dict:
    try:
      answer = pickle.load(self._process.stdout)
    except EOFError as error:
      raise errors.at(
          'the process that serves the data',
          f'ended with the code {self._process.wait()}',
          'its data may not fit the memory',
      ) from error
    if 'error' in answer:
      raise errors.from_text(answer['error'])
    return answer

  def stop(self):
    """Ends the process; it has nothing to save."""
    self._process.kill()
    self._process.wait()
    self._process.stdin.close()
    self._process.stdout.close()

  def __exit__(self, *unused_error):
    self.stop()


@contextlib.contextmanager
def directory(
    path: str,
    codec: row_codec.Codec,
    environment: dict | None,
    timeout: float,
    scratch: str | None = None,
):
  """Streams the data set in a directory; yields a StreamedDataset.

  Args:
    path: the directory of the data set, which is left as it is.
    codec: of the environment's rows.
    environment: its description; if given, the data must have the same.
    timeout: seconds to wait for the server.
    scratch: directory for columns in files; None for the system's place.

  Raises:
    UserError: if it is missing, damaged, unfinished or of another environment.
  """
  found = directories.DatasetDirectory(path)
  collected.check_description(path, found.read(), environment)
  with contextlib.ExitStack() as stack:
    stack.enter_context(found.lock(shared=True))
    checkpoint = found.checkpoint_path(found.verify())
    request = {'checkpoint': checkpoint}
    server = stack.enter_context(PrivateServer(timeout, request))
    yield served_segments.load(server.client, codec, scratch)


@contextlib.contextmanager
def data(
    name: str,
    columns: str,
    accept: list[str],
    time_limit: int | None,
    timeout: float,
    scratch: str | None = None,
):
  """Streams logged data of any kind; yields a Logged.

  Args:
    name: of the data, as `opening.open_data` takes it.
    columns: of a table.
    accept: what `findings` calls errors and the user knows to be right.
    time_limit: of the environment, if it is known.
    timeout: seconds to wait for servers.
    scratch: directory for columns in files; None for the system's place.

  Raises:
    UserError: if they cannot be used.
  """
  request = dict(
      name=name, columns=columns, timeout=timeout, accept=accept,
      time_limit=time_limit,
  )
  with PrivateServer(timeout, request) as server:
    codec = row_codec.Codec(*server.answer['codec'])
    dataset = served_segments.load(server.client, codec, scratch)
    yield logged.Logged(dataset=dataset, **server.answer['logged'])
