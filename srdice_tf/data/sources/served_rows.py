"""Puts data that are in memory into a replay server, as collectors would."""

import numpy as np
import tensorflow as tf

from srdice_tf.data import arrays
from srdice_tf.data import datasets
from srdice_tf.replay import clients
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec
from srdice_tf.replay import writers

_STREAM_ROWS = 2**20  # Counters in rows are exact up to 2^24.


def insert(
    dataset: datasets.Dataset, client: clients.ReplayClient
) -> tuple[tf.TensorSpec, tf.TensorSpec]:
  """Inserts all rows; returns the specs of the codec that reads them.

  Args:
    dataset: of rows that follow each other, as from `from_rows`.
    client: of an empty server.
  """
  observations = dataset.observations.rows.numpy()
  frame_stack = dataset.observations.frame_stack
  shape = observations.shape[1:] + ((frame_stack,) if frame_stack else ())
  specs = (
      tf.TensorSpec(shape, observations.dtype),
      tf.TensorSpec(dataset.actions.shape[1:], dataset.actions.dtype),
  )
  codec = row_codec.Codec(*specs, frame_stack)
  steps = _steps(dataset, len(observations))
  begins = _stream_begins(dataset.starts.numpy())
  for slot, (low, high) in enumerate(zip(begins, [*begins[1:], len(steps)])):
    steps[low:high, row_codec.SLOT] = slot
    steps[low:high, row_codec.CALL] = np.arange(high - low)
    for begin in range(low, high, writers.SEGMENT_LENGTH):
      part = slice(begin, min(begin + writers.SEGMENT_LENGTH, high))
      num_starts = int(
          np.sum(steps[part, row_codec.STEP_TYPE] == arrays.FIRST)
      )
      client.insert(
          reverb_tables.SEGMENTS,
          codec.join(observations[part], steps[part]),
          reverb_tables.priority_of(
              part.stop - part.start - num_starts, num_starts
          ),
      )
  client.put_metadata({
      'collector': 0,
      'num_transitions': dataset.num_transitions,
      'counts': {
          'transitions': dataset.num_transitions,
          'episodes': dataset.num_initial_states,
      },
  })
  return specs


def _steps(dataset: datasets.Dataset, num_rows: int) -> np.ndarray:
  """Returns the steps [R, 6 + A] of all rows."""
  arrivals = dataset.positions.numpy() + 1  # [n]
  actions = dataset.actions.numpy().reshape(len(arrivals), -1)  # [n, A]
  shape = num_rows, row_codec.ACTION + actions.shape[1]
  steps = np.zeros(shape, np.float32)
  steps[:, row_codec.STEP_TYPE] = arrays.MID
  steps[dataset.starts.numpy(), row_codec.STEP_TYPE] = arrays.FIRST
  steps[:, row_codec.DISCOUNT] = 1.0
  steps[arrivals, row_codec.REWARD] = dataset.rewards
  steps[arrivals, row_codec.DISCOUNT] = dataset.not_done
  steps[arrivals, row_codec.ACTION :] = actions
  return steps


def _stream_begins(starts: np.ndarray) -> list[int]:
  """Returns the rows at which streams begin: some of the episodes' starts."""
  _, first = np.unique(starts // _STREAM_ROWS, return_index=True)
  return starts[first].tolist()
