"""Reads the tables of a replay server: all at once, or as a stream."""

from typing import NamedTuple

import numpy as np
import reverb
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf import types
from srdice_tf.replay import client as client_lib
from srdice_tf.replay import dataset as dataset_lib
from srdice_tf.replay import rows
from srdice_tf.replay import tables


class Stream(NamedTuple):
  """All rows of one environment of one collector, in the order of time.

  Attributes:
    collector: number of the collector.
    slot: number of the environment.
    observations: list of [?, ...], whose concatenation has R rows.
    steps: [R, 6 + A] the rest of the rows, see `rows`.
  """

  collector: int
  slot: int
  observations: list[np.ndarray]
  steps: np.ndarray


def read_streams(
    client: client_lib.ReplayClient, codec: rows.Codec
) -> list[Stream]:
  """Returns everything that is stored in segments.

  Raises:
    UserError: if a row is missing or stored twice.
  """
  pieces = {}
  for observations, steps in _segments(client, codec):
    key = tuple(steps[0, [rows.COLLECTOR, rows.SLOT]].astype(int))
    pieces.setdefault(key, []).append((observations, steps))
  return [_join(key, pieces[key]) for key in sorted(pieces)]


def _segments(client, codec, delete: bool = False):
  """Yields observations and steps of each segment, in any order."""
  for _, segment in client.sample_all(tables.SEGMENTS, delete):
    steps = codec.steps(segment)
    is_data = steps[:, rows.STEP_TYPE] != rows.PADDING
    if is_data.any():
      yield codec.observations(segment[is_data]), steps[is_data]


def _join(key, pieces) -> Stream:
  pieces.sort(key=lambda piece: piece[1][0, rows.CALL])
  steps = np.concatenate([piece[1] for piece in pieces])  # [R, 6 + A]
  _check_calls(steps)
  return Stream(*key, [piece[0] for piece in pieces], steps)


def _check_calls(steps: np.ndarray):
  """Raises an error unless the calls of each stream are 0, 1, 2 and so on."""
  keys = steps[:, [rows.COLLECTOR, rows.SLOT]]
  is_new = np.ones(len(steps), bool)
  is_new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
  begins = np.flatnonzero(is_new)[np.cumsum(is_new) - 1]  # [R]
  wrong = np.flatnonzero(
      steps[:, rows.CALL] != np.arange(len(steps)) - begins
  )
  if wrong.size:
    collector, slot = keys[wrong[0]].astype(int)
    raise errors.UserError(
        f'replay: collector {collector}, environment {slot}: rows are missing'
        ' or stored twice; the data set is damaged, collect it again.'
    )


def read_dataset(
    client: client_lib.ReplayClient, codec: rows.Codec, delete: bool = False
) -> dataset_lib.Dataset:
  """Reads all tables once into tensors.

  Args:
    client: of the replay server.
    codec: of the environment's rows.
    delete: whether the server forgets what was read, so that it is not twice
      in memory; for a server that nobody else reads.

  Raises:
    UserError: if there is nothing, or a collector has not finished.
  """
  sizes = client.sizes()
  num_transitions = sizes[tables.TRANSITIONS]
  num_rows = num_transitions + sizes[tables.INITIAL_STATES]
  if delete:
    client.clear(tables.TRANSITIONS)
    client.clear(tables.INITIAL_STATES)
  segments = _segments(client, codec, delete)
  observations, steps = _read_rows(segments, num_rows)
  found = int(np.sum(steps[:, rows.STEP_TYPE] != rows.FIRST))
  if not found or found != num_transitions or len(steps) != num_rows:
    raise errors.UserError(
        f'replay at {client.address}: {num_transitions} transitions, of which'
        f' {found} are in finished segments; wait for its collectors, or repeat'
        ' the command of one that was stopped.'
    )
  return dataset_lib.Dataset(
      rows=observations,
      step_types=steps[:, rows.STEP_TYPE],
      actions=codec.actions(steps),
      rewards=steps[:, rows.REWARD],
      not_done=steps[:, rows.DISCOUNT],
      frame_stack=codec.frame_stack,
  )


def _read_rows(segments, num_rows: int):
  """Returns observations [R, ...] and steps [R, 6 + A], stream by stream.

  Segments come in any order. Frames are gigabytes: they are put into their one
  place at once and sorted there, so that there is never a second copy.
  """
  joined, pieces, filled = None, [], 0
  for observations, steps in segments:
    if joined is None:
      shape = num_rows, *observations.shape[1:]
      joined = memory.aligned_empty(shape, observations.dtype)
    part = joined[filled : filled + len(steps)]
    # What there is no room for is not kept: the caller refuses such data.
    part[:] = observations[: len(part)]
    pieces.append((filled, steps))
    filled += len(steps)
  if not pieces:
    return np.zeros((0, 1)), np.zeros((0, rows.ACTION))
  first_row = lambda piece: tuple(
      piece[1][0, [rows.COLLECTOR, rows.SLOT, rows.CALL]]
  )
  pieces.sort(key=first_row)
  steps = np.concatenate([piece[1] for piece in pieces])  # [R, 6 + A]
  _check_calls(steps)
  order = np.concatenate([begin + np.arange(len(s)) for begin, s in pieces])
  if filled <= num_rows:
    joined = joined[:filled]
    permute(joined, order)
  return joined, steps


def permute(array: np.ndarray, order: np.ndarray):
  """Makes array[i] what array[order[i]] was, without a second array."""
  is_done = order == np.arange(len(order))
  for begin in np.flatnonzero(~is_done):
    if is_done[begin]:
      continue
    saved, place = array[begin].copy(), begin
    while order[place] != begin:
      array[place] = array[order[place]]
      is_done[place] = True
      place = order[place]
    array[place] = saved
    is_done[place] = True


def stream_dataset(
    client: client_lib.ReplayClient, codec: rows.Codec
) -> dataset_lib.StreamingDataset:
  """Returns a data set that the server samples batch by batch."""
  stack = max(codec.frame_stack, 1)

  def histories(table: str, length: int, batch_size: int) -> tf.data.Dataset:
    items = reverb.TrajectoryDataset(
        client.address,
        table,
        dtypes=tf.uint8,
        shapes=tf.TensorShape([length, codec.row_bytes]),
        max_in_flight_samples_per_worker=2 * batch_size,
    )
    items = items.batch(batch_size, drop_remainder=True)
    return items.map(lambda item: codec.unpack_tensor(item.data))

  def observations_of(history):  # [B, stack, ...]
    if not codec.frame_stack:
      return history[:, 0]  # [B, ...]
    return tf.transpose(history, [0, 2, 3, 1])  # [B, H, W, stack]

  def to_batch(history, steps) -> types.Batch:
    arrival = steps[:, -1]  # [B, 6 + A]
    return types.Batch(
        states=observations_of(history[:, :-1]),
        actions=codec.actions(arrival),
        rewards=arrival[:, rows.REWARD],
        next_states=observations_of(history[:, 1:]),
        not_done=arrival[:, rows.DISCOUNT],
    )

  def to_initial(history, unused_steps) -> types.InitialBatch:
    return types.InitialBatch(observations_of(history))

  def transitions(batch_size):
    items = histories(tables.TRANSITIONS, stack + 1, batch_size)
    return items.map(to_batch)

  def initial_states(batch_size):
    return histories(tables.INITIAL_STATES, stack, batch_size).map(to_initial)

  sizes = client.sizes()
  return dataset_lib.StreamingDataset(
      transitions,
      initial_states,
      sizes[tables.TRANSITIONS],
      sizes[tables.INITIAL_STATES],
  )


def delete_unfinished(
    client: client_lib.ReplayClient,
    codec: rows.Codec,
    collector: int,
    streams: list[Stream],
) -> int:
  """Deletes a collector's items whose rows are in no segment.

  A collector that is killed while it fills a server elsewhere leaves some: it
  will make them again. Returns how many were deleted.
  """
  last_calls = {
      stream.slot: stream.steps[-1, rows.CALL]
      for stream in streams
      if stream.collector == collector
  }
  sizes = client.sizes()
  num_deleted = 0
  for table, finished in _finished(streams).items():
    if sizes[table] == finished:
      continue
    keys = []
    for key, history in client.sample_all(table):
      step = codec.steps(history)[-1]
      last_call = last_calls.get(int(step[rows.SLOT]), -1)
      if step[rows.COLLECTOR] == collector and step[rows.CALL] > last_call:
        keys.append(key)
      if len(keys) == sizes[table] - finished:
        break
    client.delete(table, keys)
    num_deleted += len(keys)
  return num_deleted


def _finished(streams: list[Stream]) -> dict[str, int]:
  """Returns how many items each table has of the rows in segments."""
  is_first = np.concatenate(
      [stream.steps[:, rows.STEP_TYPE] == rows.FIRST for stream in streams]
      or [np.zeros(0, bool)]
  )
  return {
      tables.TRANSITIONS: int(np.sum(~is_first)),
      tables.INITIAL_STATES: int(np.sum(is_first)),
  }
