"""Data that a replay server holds, here or on another machine."""

from srdice_tf.data import datasets
from srdice_tf.replay import clients
from srdice_tf.replay import reader
from srdice_tf.replay import row_codec


def load(
    client: clients.ReplayClient, codec: row_codec.Codec, delete: bool = False
) -> datasets.Dataset:
  """Reads everything that a server holds into tensors.

  Args:
    client: of the server.
    codec: of the environment's rows.
    delete: whether to delete on the server what was read, so that it is not in
      memory twice; only for a server that nobody else reads.

  Raises:
    UserError: if there is nothing, if a collector has not finished, or if the
      collectors counted something else.
  """
  found = reader.read_rows(client, codec, delete)
  return datasets.Dataset.from_rows(
      **found._asdict(), frame_stack=codec.frame_stack
  )
