"""Reads everything that a replay server holds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.replay import clients
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec


class Stream(NamedTuple):
  """All rows of one environment of one collector, in the order of time.

  Attributes:
    collector: number of the collector.
    slot: number of the environment.
    observations: list of [?, ...], R rows in all.
    steps: [R, 6 + A] the rest of the rows, see `rows`.
  """

  collector: int
  slot: int
  observations: list[np.ndarray]
  steps: np.ndarray


class StoredRows(NamedTuple):
  """All rows of a server, stream by stream; see `rows`.

  Attributes:
    rows: [R, ...] observations, or frames [R, H, W].
    step_types: [R].
    actions: [R, A] or [R], those that led to each row.
    rewards: [R].
    not_done: [R].
  """

  rows: np.ndarray
  step_types: np.ndarray
  actions: np.ndarray
  rewards: np.ndarray
  not_done: np.ndarray


def read_streams(
    client: clients.ReplayClient,
    codec: row_codec.Codec,
    collector: int,
    on_progress: Callable[[int, int], None] = lambda seen, size: None,
) -> list[Stream]:
  """Returns everything that one collector has stored.

  Args:
    client: of the replay server.
    codec: of the environment's rows.
    collector: its number.
    on_progress: called with the numbers of segments read and of all segments.

  Raises:
    UserError: if a row is missing or stored twice.
  """
  pieces = {}
  for _, segment in client.sample_all(
      reverb_tables.SEGMENTS, on_progress=on_progress
  ):
    steps = codec.steps(segment)
    key = tuple(steps[0, [row_codec.COLLECTOR, row_codec.SLOT]].astype(int))
    if key[0] == collector:
      piece = codec.observations(segment), steps
      pieces.setdefault(key, []).append(piece)
  return [_join(key, pieces[key]) for key in sorted(pieces)]


def _join(key, pieces) -> Stream:
  pieces.sort(key=lambda piece: piece[1][0, row_codec.CALL])
  steps = np.concatenate([piece[1] for piece in pieces])  # [R, 6 + A]
  _check_calls(steps)
  return Stream(*key, [piece[0] for piece in pieces], steps)


def _check_calls(steps: np.ndarray):
  """Raises an error unless the calls of each stream are 0, 1, 2 and so on."""
  keys = steps[:, [row_codec.COLLECTOR, row_codec.SLOT]]
  is_new = np.ones(len(steps), bool)
  is_new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
  begins = np.flatnonzero(is_new)[np.cumsum(is_new) - 1]  # [R]
  wrong = np.flatnonzero(
      steps[:, row_codec.CALL] != np.arange(len(steps)) - begins
  )
  if wrong.size:
    collector, slot = keys[wrong[0]].astype(int)
    raise errors.at(
        f'replay: collector {collector}, environment {slot}',
        'rows are missing or stored twice',
        'the data set is damaged, collect it again',
    )


def read_rows(
    client: clients.ReplayClient, codec: row_codec.Codec, delete: bool = False
) -> StoredRows:
  """Reads all rows of all collectors once.

  Args:
    client: of the replay server.
    codec: of the environment's rows.
    delete: whether to delete on the server what was read, so that it is not in
      memory twice; only for a server that nobody else reads.

  Raises:
    UserError: if there is nothing, if a collector has not finished, or if the
      collectors counted something else.
  """
  expected = expected_counts(client)
  num_rows = sum(expected.values())
  segments = (
      (codec.observations(segment), codec.steps(segment))
      for _, segment in client.sample_all(reverb_tables.SEGMENTS, delete)
  )
  observations, steps = _sorted_rows(segments, num_rows)
  num_starts = int(np.sum(steps[:, row_codec.STEP_TYPE] == row_codec.FIRST))
  found = {'transitions': len(steps) - num_starts, 'episodes': num_starts}
  for name, count in expected.items():
    if found[name] != count:
      raise errors.at(
          f'replay at {client.address}',
          f'{found[name]:,} {name} are there, its collectors counted {count:,}',
          'the data set is damaged, collect it again',
      )
  return StoredRows(
      rows=observations,
      step_types=steps[:, row_codec.STEP_TYPE],
      actions=codec.actions(steps),
      rewards=steps[:, row_codec.REWARD],
      not_done=steps[:, row_codec.DISCOUNT],
  )


def expected_counts(client: clients.ReplayClient) -> dict[str, int]:
  """Returns how many transitions and episodes the collectors say there are."""
  expected = {'transitions': 0, 'episodes': 0}
  for collector, description in sorted(client.metadata().items()):
    asked = description['num_transitions']
    counts = description.get('counts', dict.fromkeys(expected, 0))
    if counts['transitions'] != asked:
      raise errors.at(
          f'replay at {client.address}',
          f'collector {collector} has saved {counts["transitions"]:,} of'
          f' {asked:,} transitions',
          'wait for it, or repeat its command if it was stopped',
      )
    for name in expected:
      expected[name] += counts[name]
  if not expected['transitions']:
    raise errors.at(
        f'replay at {client.address}',
        'there are 0 transitions',
        f'collect some with {commands.name("collect_dataset")}',
    )
  return expected


def _sorted_rows(segments, num_rows: int):
  """Returns observations [R, ...] and steps [R, 6 + A], stream by stream.

  Segments come in any order. Frames are gigabytes: they are copied into one
  array as they come and sorted in place, so there is never a second copy.
  """
  joined, pieces, filled = None, [], 0
  for observations, steps in segments:
    if joined is None:
      shape = num_rows, *observations.shape[1:]
      joined = memory.aligned_empty(shape, observations.dtype)
    part = joined[filled : filled + len(steps)]
    # What does not fit is dropped: the caller refuses such data.
    part[:] = observations[: len(part)]
    pieces.append((filled, steps))
    filled += len(steps)
  if not pieces:
    return np.zeros((0, 1)), np.zeros((0, row_codec.ACTION))
  first_row = lambda piece: tuple(
      piece[1][0, [row_codec.COLLECTOR, row_codec.SLOT, row_codec.CALL]]
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
  """Sets array[i] to the old array[order[i]], without a second array."""
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
