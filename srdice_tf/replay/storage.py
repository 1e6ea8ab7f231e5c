"""Opens a data set that was collected before."""

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.replay import dataset as dataset_lib
from srdice_tf.replay import directory as directory_lib
from srdice_tf.replay import reader
from srdice_tf.replay import rows
from srdice_tf.replay import server as server_lib


def load_dataset(
    path: str, codec: rows.Codec, environment: dict | None = None
) -> dataset_lib.Dataset:
  """Reads the data set in a directory into tensors.

  Args:
    path: the dataset directory.
    codec: of the environment's rows.
    environment: its description; if given it must be the data's.

  Raises:
    UserError: if it is missing, damaged, unfinished or of another environment.
  """
  directory = directory_lib.DatasetDirectory(path)
  check(path, directory.read(), environment)
  server = server_lib.ReplayServer(directory)
  try:
    return reader.read_dataset(server.client, codec, delete=True)
  finally:
    server.stop()
    memory.give_back()


def check(path: str, description: dict, environment: dict | None):
  """Raises an error that names what is wrong with a data set."""
  if description['status'] != directory_lib.COMPLETE:
    counts = description['counts']
    raise errors.UserError(
        f"--dataset_dir={path}: {counts['transitions']} of"
        f" {description['num_transitions']} transitions are collected; repeat"
        ' the command that collects it.'
    )
  if environment is None:
    return
  found = description['environment']
  for field in {**found, **environment}:
    if found.get(field) != environment.get(field):
      raise errors.UserError(
          f'--dataset_dir={path}: its environment has {field}'
          f' {found.get(field)}, asked for is {environment.get(field)}.'
      )
