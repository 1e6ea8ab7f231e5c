"""Data that a replay server holds, streamed instead of read at once."""

from collections.abc import Iterator

import numpy as np

from srdice_tf import errors
from srdice_tf.data import arrays
from srdice_tf.data import blocks
from srdice_tf.data import streamed
from srdice_tf.replay import clients
from srdice_tf.replay import row_codec
from srdice_tf.replay import segment_stream


class ServedSegments:
  """The segments of a server; see `streamed.SegmentSource`."""

  def __init__(self, rows: segment_stream.ServedRows):
    self._rows = rows
    self.where = f'replay at {rows.address}'
    self.frame_stack = rows.codec.frame_stack
    self.num_bytes = sum(rows.counts.values()) * rows.codec.row_bytes

  def segments(self) -> Iterator[blocks.Segment]:
    """Yields each segment once, in any order."""
    return map(self._segment, self._rows.each())

  def endless(self) -> Iterator[blocks.Segment]:
    """Yields segments that the server draws uniformly, without end."""
    return map(self._segment, self._rows.endless())

  def _segment(self, rows: np.ndarray) -> blocks.Segment:
    codec = self._rows.codec
    steps = codec.steps(rows)  # [K, 6 + A]
    collector, slot, call = steps[0, : row_codec.CALL + 1].astype(int).tolist()
    return blocks.Segment(
        (collector, slot),
        call,
        arrays.converted(codec.observations(rows)),
        steps[:, row_codec.STEP_TYPE].astype(np.int32),
        arrays.converted(codec.actions(steps)),
        steps[:, row_codec.REWARD],
        steps[:, row_codec.DISCOUNT],
    )


def load(
    client: clients.ReplayClient,
    codec: row_codec.Codec,
    directory: str | None = None,
) -> streamed.StreamedDataset:
  """Returns the data of a server, of which little is in memory at a time.

  Args:
    client: of the server.
    codec: of the environment's rows.
    directory: for columns in files; None for the system's place.

  Raises:
    UserError: if there is nothing, if a collector has not finished, or if the
      collectors counted something else.
  """
  rows = segment_stream.ServedRows(client, codec)
  dataset = streamed.StreamedDataset(ServedSegments(rows), directory)
  found = {
      'transitions': dataset.num_transitions,
      'episodes': dataset.num_initial_states,
  }
  for name, count in rows.counts.items():
    if found[name] != count:
      raise errors.at(
          f'replay at {client.address}',
          f'{found[name]:,} {name} are there, its collectors counted {count:,}',
          'the data set is damaged, collect it again',
      )
  return dataset
