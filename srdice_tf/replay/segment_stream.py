"""Segments of a replay server, read as long as they are needed, not kept."""

from collections.abc import Iterator
import math

import numpy as np
import reverb
import tensorflow as tf

from srdice_tf.replay import clients
from srdice_tf.replay import reader
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec

_WORKERS = 2
_IN_FLIGHT = 4  # Samples that are on their way to each worker.


class ServedRows:
  """The rows of a server, segment by segment.

  Attributes:
    codec: of the rows.
    counts: the transitions and episodes that its collectors have stored.
  """

  def __init__(self, client: clients.ReplayClient, codec: row_codec.Codec):
    """Asks the server what it holds.

    Raises:
      UserError: if there is nothing, or a collector has not finished.
    """
    self._client = client
    self.codec = codec
    self.counts = reader.expected_counts(client)

  @property
  def address(self) -> str:
    return self._client.address

  def each(self) -> Iterator[np.ndarray]:
    """Yields each segment [K, bytes] once, in any order."""
    for _, rows in self._client.sample_all(reverb_tables.SEGMENTS):
      yield rows

  def endless(self) -> Iterator[np.ndarray]:
    """Yields segments [K, bytes] that the server draws, without end.

    Raises:
      UserError: if it does not answer in time.
    """
    with self._client.guard():
      samples = iter(reverb.TrajectoryDataset(
          self._client.address,
          reverb_tables.SEGMENTS,
          dtypes=[tf.uint8],
          shapes=[tf.TensorShape([None, self.codec.row_bytes])],
          max_in_flight_samples_per_worker=_IN_FLIGHT,
          num_workers_per_iterator=_WORKERS,
          rate_limiter_timeout_ms=math.ceil(1000 * self._client.timeout),
      ))
    while True:
      try:
        sample = self._client.call(next, samples)
      except (StopIteration, tf.errors.OpError) as error:
        with self._client.guard():
          raise RuntimeError(error) from error
      yield sample.data[0].numpy()
