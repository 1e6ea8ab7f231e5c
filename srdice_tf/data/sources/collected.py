"""Data that were collected into a directory before."""

import contextlib
import tempfile

import reverb

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.data import datasets
from srdice_tf.data.sources import reverb_server
from srdice_tf.replay import clients
from srdice_tf.replay import descriptions
from srdice_tf.replay import directories
from srdice_tf.replay import network
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec


def load(
    path: str, codec: row_codec.Codec, environment: dict | None = None
) -> datasets.Dataset:
  """Reads the data set in a directory into tensors.

  Any number of processes may do so at once; the directory is left as it is.

  Args:
    path: the directory of the data set.
    codec: of the environment's rows.
    environment: its description; if given, the data must have the same.

  Raises:
    UserError: if it is missing, damaged, unfinished, of another environment, or
      not what dataset.json says.
  """
  directory = directories.DatasetDirectory(path)
  check_description(path, directory.read(), environment)
  with directory.lock(shared=True):
    description = directory.verify()
    with _serving(directory.checkpoint_path(description)) as client:
      collectors = client.metadata().values()
      dataset = reverb_server.load(client, codec, delete=True)
  memory.give_back()
  counts = {
      'transitions': dataset.num_transitions,
      'episodes': dataset.num_initial_states,
  }
  directory.compare(description, descriptions.describe(collectors, counts))
  return dataset


@contextlib.contextmanager
def _serving(checkpoint: str):
  """Serves a checkpoint to this process; yields the client."""
  with tempfile.TemporaryDirectory(prefix='srdice_replay_') as scratch:
    server = network.start_server(
        reverb_tables.make_tables(capacity=1),  # The checkpoint has its own.
        checkpointer=reverb.platform.checkpointers_lib.DefaultCheckpointer(
            scratch, fallback_checkpoint_path=checkpoint
        ),
    )
    try:
      yield clients.ReplayClient(f'localhost:{server.port}')
    finally:
      server.stop()


def check_description(path: str, description: dict, environment: dict | None):
  """Raises an error that names what is wrong with a data set."""
  if description['status'] != descriptions.COMPLETE:
    counts = description['counts']
    raise errors.UserError(
        'dataset_dir',
        path,
        f"{counts['transitions']} of {description['num_transitions']}"
        ' transitions are collected; repeat the command that collects it',
    )
  if environment is None:
    return
  found = description['environment']
  for field in {**found, **environment}:
    if found.get(field) != environment.get(field):
      raise errors.UserError(
          'dataset_dir',
          path,
          f'its environment has {field} {found.get(field)}, asked for is'
          f' {environment.get(field)}',
      )
