"""Arrays with one row a step, under the names that D4RL has for them.

    observations        [n, ...] floats, [n] states from 0, [n, H, W, C] bytes
    actions             [n, A] floats, or [n] whole numbers from 0
    rewards             [n]
    terminals           [n] 1 where the step ends in a terminal state
    timeouts            [n] 1 where the episode was cut after the step
    next_observations   [n, ...] observations after the steps
    episode_ids         [n] the episode of each step
    log_probabilities   [n] of the actions under the policy that took them

The first three are needed, and something that shows where episodes end.
Episodes are what episode_ids say; without them they end where terminals or
timeouts are 1, and with the last row. Without next_observations the observation
after a step is that of the next row. The one after the last step of an episode
is not known then: if the step is terminal, the last observation stands for it,
since nothing is learned from it; if not, the step is left out.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import NamedTuple

import numpy as np

from srdice_tf import limits
from srdice_tf import memory
from srdice_tf.data import arrays
from srdice_tf.data import datasets
from srdice_tf.data import logged
from srdice_tf.data.sources import array_checks

_NEEDED = 'observations', 'actions', 'rewards'
_ENDS = 'terminals', 'timeouts', 'episode_ids'
_OTHERS = 'next_observations', 'log_probabilities'
KEYS = (*_NEEDED, *_ENDS, *_OTHERS)
_OTHER_NAMES = {
    'states': 'observations',
    'next_states': 'next_observations',
    'terminations': 'terminals',
    'truncations': 'timeouts',
}
_BLOCK_BYTES = 2**24  # A few of them are in memory at once.


class _Layout(NamedTuple):
  """Which rows of a data set the n steps become.

  Attributes:
    is_start: [n] whether the step is the first of its episode.
    is_end: [n] whether it is the last.
    is_terminal: [n] whether it ends in a terminal state.
    is_kept: [n] whether the observation after the step is known.
    is_used: [n] whether its own observation is part of the data.
    places: [n] the row of its observation, for those that are used.
    num_rows: R.
  """

  is_start: np.ndarray
  is_end: np.ndarray
  is_terminal: np.ndarray
  is_kept: np.ndarray
  is_used: np.ndarray
  places: np.ndarray
  num_rows: int


def load(
    given: Mapping,
    where: str,
    origin: array_checks.Origin | None = None,
    notes: tuple[str, ...] = (),
) -> logged.Logged:
  """Returns the data of arrays.

  Args:
    given: arrays by their keys; other keys are left alone.
    where: what errors call them.
    origin: what else errors say about them.
    notes: what is said about them before.

  Raises:
    UserError: if they cannot be used.
  """
  origin = origin or array_checks.Origin(where)
  fields, left = _known(given, origin)
  fields = array_checks.checked(fields, origin)
  layout = _layout(fields, origin)
  dataset = _dataset(fields, layout, origin)
  notes = (*notes, *left, *_notes(fields, layout))
  return dataclasses.replace(
      logged.described_by_itself(dataset, notes),
      row_numbers=origin.rows(np.flatnonzero(layout.is_kept)),
  )


def is_known(name: str) -> bool:
  """Returns whether an array of this name is part of the data."""
  return _OTHER_NAMES.get(name, name) in KEYS


def _known(given: Mapping, origin: array_checks.Origin) -> tuple[dict, list]:
  """Returns the fields under their keys, and notes on what is left out."""
  fields, others = {}, []
  for name, values in given.items():
    key = _OTHER_NAMES.get(name, name)
    if key not in KEYS:
      others.append(name)
    elif key in fields:
      raise origin.error(
          f'there are two arrays of {key}, one of them called {name}',
          'expected one',
      )
    else:
      fields[key] = values
  found = ', '.join(given) or 'nothing'
  for key in _NEEDED:
    if key not in fields:
      raise origin.error(
          f'there is no {origin.name(key)}, only {found}',
          f'expected {", ".join(_NEEDED)} and {" or ".join(_ENDS)}',
      )
  if not fields.keys() & set(_ENDS):
    raise origin.error(
        f'nothing says where episodes end, there are only {found}',
        f'expected {" or ".join(map(origin.name, _ENDS))}',
    )
  return fields, [f'not read: {", ".join(others)}'] if others else []


def _layout(fields: Mapping, origin: array_checks.Origin) -> _Layout:
  size = len(fields['rewards'])
  is_terminal, is_cut = (
      np.asarray(fields.get(key, np.zeros(size)), bool)
      for key in array_checks.FLAGS
  )
  is_end = is_terminal | is_cut
  if 'episode_ids' in fields:
    is_end = _ends_of_ids(fields['episode_ids'], is_end, origin)
  is_end[-1] = True
  is_start = np.append(True, is_end[:-1])
  is_kept = ~is_end | is_terminal | ('next_observations' in fields)
  is_used = is_kept | ~is_start
  num_rows = is_used + (is_end & is_kept).astype(int)  # [n] of each step
  places = np.cumsum(num_rows) - num_rows
  if not is_kept.any():
    raise origin.error(
        'each episode is one step, and the observation after it is not known',
        f'expected {origin.name("next_observations")}',
    )
  return _Layout(
      is_start, is_end, is_terminal, is_kept, is_used, places, num_rows.sum()
  )


def _ends_of_ids(
    ids: np.ndarray, is_end: np.ndarray, origin: array_checks.Origin
) -> np.ndarray:
  """Returns where the episode changes [n], if flags and ids agree."""
  name = origin.name('episode_ids')
  changes = np.append(ids[1:] != ids[:-1], True)
  wrong = np.flatnonzero(is_end & ~changes)
  if wrong.size:
    raise origin.error(
        f'{origin.row(wrong[0])} ends an episode by'
        f' {" or ".join(map(origin.name, array_checks.FLAGS))}, but the next'
        f' row has the same {name}, {ids[wrong[0]]}',
        'expected them only in the last row of an episode',
    )
  starts = np.flatnonzero(np.append(True, changes[:-1]))
  _, first = np.unique(ids[starts], return_index=True)
  again = np.setdiff1d(np.arange(len(starts)), first)
  if again.size:
    row = starts[again[0]]
    raise origin.error(
        f'{name} {ids[row]} comes again in {origin.row(row)}, after other ones',
        'expected the rows of an episode one after the other, in the order of'
        ' time',
    )
  return changes


def _dataset(
    fields: Mapping, layout: _Layout, origin: array_checks.Origin
) -> datasets.Dataset:
  arrivals = layout.places[layout.is_kept] + 1  # [k]
  is_start = layout.is_start & layout.is_used
  is_end = layout.is_end & layout.is_used
  step_types = np.full(layout.num_rows, arrays.MID)
  step_types[layout.places[is_start]] = arrays.FIRST
  step_types[layout.places[is_end] + layout.is_kept[is_end]] = arrays.LAST

  def arrived(values: np.ndarray, rest=0) -> np.ndarray:
    rows = np.full((layout.num_rows, *values.shape[1:]), rest, values.dtype)
    rows[arrivals] = values[layout.is_kept]
    return rows

  log_probabilities = fields.get('log_probabilities')
  return datasets.Dataset.from_rows(
      rows=_rows(fields, layout, origin),
      step_types=step_types,
      actions=arrived(fields['actions']),
      rewards=arrived(fields['rewards']),
      not_done=arrived(~layout.is_terminal, True),
      log_probabilities=(
          None if log_probabilities is None else arrived(log_probabilities)
      ),
  )


def _rows(
    fields: Mapping, layout: _Layout, origin: array_checks.Origin
) -> np.ndarray:
  """Returns the observations [R, ...], read block by block to their places."""
  observations = fields['observations']
  shape = layout.num_rows, *observations.shape[1:]
  dtype = array_checks.row_type(observations)
  needed = np.prod(shape, dtype=float) * dtype.itemsize
  free = limits.available_bytes()
  if needed > free:
    raise origin.error(
        f'{origin.name("observations")} need {needed / 2**30:,.1f} GiB of'
        f' memory, of which {free / 2**30:,.1f} are free'
    )
  rows = memory.aligned_empty(shape, dtype)
  after = layout.is_end & layout.is_kept
  for block, values in _blocks('observations', fields, origin):
    used = layout.is_used[block]
    rows[layout.places[block][used]] = values[used]
    # It stands for the observation after the last step, if that is not known.
    rows[layout.places[block][after[block]] + 1] = values[after[block]]
  if 'next_observations' in fields:
    _take_next(rows, fields, layout, origin)
  return rows


def _take_next(
    rows: np.ndarray,
    fields: Mapping,
    layout: _Layout,
    origin: array_checks.Origin,
):
  """Fills in the observations after episodes; all others must be there."""
  differ = []
  for block, values in _blocks('next_observations', fields, origin):
    is_end = layout.is_end[block]
    places = layout.places[block] + 1
    rows[places[is_end]] = values[is_end]
    unlike = (rows[places] != values).reshape(len(values), -1).any(axis=1)
    differ.append(block.start + np.flatnonzero(unlike))
  differ = np.concatenate(differ)
  if differ.size:
    raise origin.error(
        f'{origin.name("next_observations")} of {differ.size} steps are not the'
        f' {origin.name("observations")} of the next row, the first in'
        f' {origin.row(differ[0])}',
        'expected the rows of an episode one after the other; give'
        f' {" or ".join(map(origin.name, _ENDS[:0:-1]))} if episodes end there',
    )


def _blocks(
    key: str, fields: Mapping, origin: array_checks.Origin
) -> Iterator[tuple[slice, np.ndarray]]:
  """Yields slices of an array and its values there, in the type of rows."""
  array = fields[key]
  dtype = array_checks.row_type(fields['observations'])
  size = max(_BLOCK_BYTES // (array[:1].nbytes or 1), 1)
  for begin in range(0, len(array), size):
    values = array[begin : begin + size]
    array_checks.check_values(key, values, origin, begin)
    yield (
        slice(begin, begin + len(values)),
        values.astype(dtype, copy=False),
    )


def _notes(fields: Mapping, layout: _Layout) -> Iterator[str]:
  """Yields what was assumed."""
  if 'terminals' not in fields:
    yield 'no terminals are given: every episode is taken as cut, none as ended'
  elif not fields.keys() & {'timeouts', 'episode_ids', *_OTHERS[:1]}:
    yield (
        'neither timeouts nor episode ids nor next observations are given: an'
        ' episode that was cut would go on with the start of the next'
    )
  if 'next_observations' in fields:
    return
  num_cut = int(np.sum(~layout.is_kept))
  if num_cut:
    yield (
        f'the last steps of {num_cut} episodes are left out: the observations'
        ' after them are not in the data'
    )
  num_ended = int(np.sum(layout.is_end & layout.is_kept))
  if num_ended:
    yield (
        f'the terminal states of {num_ended} episodes are not in the data: the'
        ' states before them stand for them, nothing is learned from them'
    )
