"""Data of a library call that are streamed, by their name."""

from collections.abc import Sequence
import contextlib
import os
import pathlib

from tf_agents.specs import tensor_spec

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data import logged
from srdice_tf.data import opening
from srdice_tf.data.sources import private_server
from srdice_tf.data.sources import served_segments
from srdice_tf.experiments import provenance
from srdice_tf.experiments import streaming
from srdice_tf.replay import clients
from srdice_tf.replay import directories
from srdice_tf.replay import row_codec


def opened(
    data,
    columns: str = '',
    accept: Sequence[str] | str = (),
    timeout: float = opening.TIMEOUT_SECONDS,
) -> contextlib.AbstractContextManager[logged.Logged]:
  """Returns a context with a Logged whose data set is streamed.

  Args:
    data: the name of data, as `opening.open_data` takes it, or
      'reverb:HOST:PORT' for a server of replay_server.py.
    columns: of a table, if the data are one.
    accept: what `findings` calls errors and the caller knows to be right.
    timeout: seconds to wait for a server.

  Raises:
    UserError: if they are in memory already, or cannot be used.
  """
  if not isinstance(data, str | os.PathLike):
    raise errors.UserError(
        'stream', True, 'the data are in memory; expected the name of some'
    )
  name = os.fspath(data)
  if name.startswith(opening.REVERB) and '/' not in name:
    return _of_server(name.removeprefix(opening.REVERB), timeout)
  if directories.DatasetDirectory(name).exists():
    return _of_directory(name, timeout)
  accept = [accept] if isinstance(accept, str) else list(accept)
  return private_server.data(name, columns, accept, None, timeout)


def is_needed(data) -> bool:
  """Returns whether named data would take more than half of the free memory.

  Of a collected directory by its description; else as much as on the disk.
  """
  if not isinstance(data, str | os.PathLike):
    return False
  path = pathlib.Path(data)
  directory = directories.DatasetDirectory(str(path))
  if directory.exists():
    found = directory.read()
    *_, codec = _environment(found['environment'])
    return streaming.is_needed(found['num_transitions'] * codec.row_bytes)
  try:
    files = [path, *path.rglob('*')] if path.exists() else []
    size = sum(file.stat().st_size for file in files if file.is_file())
  except OSError:  # Who opens them says what is wrong.
    return False
  return streaming.is_needed(size)


@contextlib.contextmanager
def _of_directory(path: str, timeout: float):
  found = directories.DatasetDirectory(path).read()
  env_id, specs, codec = _environment(found['environment'])
  wanted = environments.description(env_id)
  with private_server.directory(path, codec, wanted, timeout) as dataset:
    yield logged.Logged(dataset, *specs, True, env_id=env_id)


@contextlib.contextmanager
def _of_server(address: str, timeout: float):
  client = clients.ReplayClient(address, timeout)
  found = provenance.of_server(client).description['environment']
  env_id, specs, codec = _environment(found)
  dataset = served_segments.load(client, codec)
  yield logged.Logged(dataset, *specs, True, env_id=env_id)


def _environment(description: dict):
  """Returns id, specs and codec of the environment that made data."""
  env_id = description['id']
  env = environments.load(env_id)
  specs = (
      tensor_spec.from_spec(spec)
      for spec in (env.observation_spec(), env.action_spec())
  )
  return env_id, tuple(specs), row_codec.codec_of(env)
