"""Tables, CSV or Parquet, with one row a step and a map of their columns.

The map says which columns are what:

    state=speed+load+heat,action=valve,reward=profit,episode=day,step=minute

    state             the columns of a state, joined by +
    action            those of an action
    reward            its column
    episode           numbers or texts that tell episodes apart
    step              numbers or times that give the order within an episode
    terminal          1 (or true) where the step ends in a terminal state
    timeout           1 (or true) where the episode was cut after the step
    next_state        the columns of the state after the step
    log_probability   of the action under the policy that took it

State, action, reward and one of episode, terminal and timeout are needed. A *
in a name stands for any text: state=sensor_* are all such columns, in the order
of the file. One column of whole numbers is a discrete action or a finite state,
from 0; all else are vectors of floats. Without step the rows are in the order
of time; with it they may be in any order, and episodes come in the order of
their names. Rows are counted from 0, below the header.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import fnmatch
import os
import warnings

import numpy as np
import pandas as pd
from pyarrow import parquet

from srdice_tf import errors
from srdice_tf.data import logged
from srdice_tf.data.sources import array_checks
from srdice_tf.data.sources import array_fields
from srdice_tf.data.sources import array_file

_VECTORS = {
    'state': 'observations',
    'next_state': 'next_observations',
    'action': 'actions',
}
_NUMBERS = {
    'reward': 'rewards',
    'terminal': 'terminals',
    'timeout': 'timeouts',
    'log_probability': 'log_probabilities',
}
_ORDER = {'episode': 'episode_ids', 'step': 'steps'}
_KEYS = {**_VECTORS, **_NUMBERS, **_ORDER}
_MOST_SHOWN = 30
_EXAMPLE = 'state=s1+s2,action=a,reward=r,episode=id,terminal=done'


def load(path: str, columns: str) -> logged.Logged:
  """Returns the data of a table.

  Args:
    path: of the file, .csv or .parquet.
    columns: the map of its columns, as above.

  Raises:
    UserError: if the map does not fit, or the file cannot be used.
  """
  array_file.check_not_empty(path)
  reader = _read_csv if path.lower().endswith('.csv') else _read_parquet
  found = reader(path, None)
  chosen = _chosen(path, columns, found)
  names = sorted({name for group in chosen.values() for name in group})
  table = reader(path, names)
  if table.empty:
    raise errors.at(path, 'there are no steps')
  return _of_table(table, chosen, path)


def _of_table(
    table: pd.DataFrame, chosen: dict[str, list[str]], path: str
) -> logged.Logged:
  fields, notes, order = {}, [], None
  for key, names in chosen.items():
    columns = [table[name] for name in names]
    if key in _ORDER:
      fields[key] = _labels(columns[0], path, is_time=key == 'step')
    else:
      parts = [_numbers(column, path) for column in columns]
      fields[key] = _vectors(parts) if key in _VECTORS else parts[0]
  if 'step' in fields:
    order, notes = _sorted(fields, chosen, path)
    fields = {key: values[order] for key, values in fields.items()}
  fields.pop('step', None)
  notes += _notes(fields['action'], chosen['action'], path)
  origin = array_checks.Origin(
      path,
      {
          field: f'{key} ({_joined(chosen[key])})' if key in chosen else key
          for key, field in _KEYS.items()
      },
      order,
  )
  given = {_KEYS[key]: values for key, values in fields.items()}
  return array_fields.load(given, path, origin, tuple(notes))


def _joined(names: list[str]) -> str:
  """Returns names as the map has them; of many the first and the last."""
  few = len(names) <= 4
  return '+'.join(names if few else [*names[:2], '...', names[-1]])


def _notes(actions: np.ndarray, names: list[str], path: str) -> Iterator[str]:
  """Yields what was assumed about a table."""
  if actions.ndim == 1:
    yield f'the whole numbers of {names[0]} are taken as discrete actions'
  elif len(names) == 1 and np.all(actions == np.round(actions)):
    yield f'the floats of {names[0]} are taken as continuous actions'
  with open(path, 'rb') as file:
    file.seek(-1, os.SEEK_END)
    if path.lower().endswith('.csv') and file.read() not in b'\r\n':
      yield 'the last line has no end: the file may have been cut there'


def _chosen(
    path: str, columns: str, found: Sequence[str]
) -> dict[str, list[str]]:
  """Returns the names of the columns of each key of the map."""
  shown = [n if n.isprintable() else repr(n) for n in found[:_MOST_SHOWN]]
  more = ', ...' if len(found) > len(shown) else ''
  has = f'{path} has the columns {", ".join(shown)}{more}'
  chosen = {}
  for part in filter(None, columns.split(',')):
    key, _, names = (text.strip() for text in part.partition('='))
    if key not in _KEYS or key in chosen or not names:
      raise errors.UserError(
          'columns',
          columns,
          f'found {part!r}; expected each of {", ".join(_KEYS)} at most once,'
          f' such as {_EXAMPLE}',
      )
    chosen[key] = [
        name
        for pattern in names.split('+')
        for name in _matching(pattern.strip(), found, columns, has)
    ]
    if key not in _VECTORS and len(chosen[key]) > 1:
      raise errors.UserError(
          'columns', columns, f'{key} has {len(chosen[key])} columns;'
          ' expected one',
      )
  missing = [key for key in ('state', 'action', 'reward') if key not in chosen]
  if missing or not chosen.keys() & {'episode', 'terminal', 'timeout'}:
    lacks = missing[0] if missing else 'episode or terminal or timeout'
    raise errors.UserError(
        'columns', columns, f'{lacks} is missing; {has}; expected such as'
        f' {_EXAMPLE}',
    )
  return chosen


def _matching(
    pattern: str, found: Sequence[str], columns: str, has: str
) -> list[str]:
  names = [pattern] if pattern in found else []
  if not names and '*' in pattern:
    names = [name for name in found if fnmatch.fnmatchcase(name, pattern)]
  if not names:
    raise errors.UserError(
        'columns', columns, f'there is no column {pattern}; {has}'
    )
  return names


def _read_csv(path: str, names: list[str] | None):
  """Returns the columns of these names; of None the names of all."""
  try:
    if names is None:
      return list(pd.read_csv(path, nrows=0, index_col=False))
    with warnings.catch_warnings():
      warnings.simplefilter('error', pd.errors.ParserWarning)
      # All of it: of some columns only, lines with more values than there are
      # names in the header would pass.
      return pd.read_csv(
          path, index_col=False, float_precision='round_trip', low_memory=False
      )[names]
  except Exception as error:  # What damage raises depends on where it is.
    raise array_checks.unreadable(
        path, error, expected='expected a CSV file with a header'
    ) from error


def _read_parquet(path: str, names: list[str] | None):
  """Returns the columns of these names; of None the names of all."""
  try:
    with parquet.ParquetFile(path) as file:
      if names is None:
        return file.schema_arrow.names
      return file.read(columns=names).to_pandas(ignore_metadata=True)
  except Exception as error:  # As above.
    raise array_checks.unreadable(
        path, error, expected='expected a Parquet file'
    ) from error


def _numbers(column: pd.Series, path: str) -> np.ndarray:
  """Returns a column of numbers [n], or of lists of them [n, k]."""
  origin = array_checks.Origin(path)
  _refuse(column.isna(), column, origin, 'a number')
  values = column.to_numpy()
  if values.dtype.kind == 'O' and all(
      isinstance(each, np.ndarray) for each in values
  ):
    sizes = column.map(np.size)
    first = sizes.iloc[0]
    _refuse(sizes != first, sizes, origin, f'{first} numbers, as in row 0')
    values = np.stack(values)
  elif values.dtype.kind == 'O':
    is_text = pd.to_numeric(column.astype(str), errors='coerce').isna()
    _refuse(is_text, column, origin, 'a number')
  if values.dtype.kind not in 'fiub':
    raise errors.at(
        path,
        f'the column {column.name} is of {values.dtype}',
        'expected numbers',
    )
  if values.dtype.kind == 'f' and values.ndim == 1:
    _refuse(~np.isfinite(values), column, origin, 'a finite number')
  return values


def _labels(column: pd.Series, path: str, is_time: bool) -> np.ndarray:
  """Returns numbers [n], those of times too; texts [n] of anything else."""
  _refuse(column.isna(), column, array_checks.Origin(path), 'a value')
  if column.dtype.kind in 'fiub':
    return column.to_numpy()
  if is_time:
    try:
      times = pd.to_datetime(column, format='ISO8601', utc=True)
    except (ValueError, TypeError) as error:
      raise array_checks.unreadable(
          path, error, f'the column {column.name}',
          'expected numbers, or times such as 2024-01-31 23:59:00',
      ) from error
    return times.dt.as_unit('ns').astype(np.int64).to_numpy()
  return column.astype(str).to_numpy(str)


def _refuse(is_wrong, column: pd.Series, origin, expected: str):
  """Raises an error that names the first row where something is wrong."""
  rows = np.flatnonzero(is_wrong)
  if rows.size:
    value = column.iloc[rows[0]]
    found = 'nothing' if pd.isna(value) else repr(value)
    raise origin.error(
        f'the column {column.name} has {found} in {origin.row(rows[0])}',
        f'expected {expected}',
    )


def _vectors(columns: list[np.ndarray]) -> np.ndarray:
  """Returns vectors [n, k], or [n] if there is one column of whole numbers."""
  if len(columns) == 1 and columns[0].dtype.kind in 'iub':
    return columns[0].astype(np.int64)
  columns = [each if each.ndim > 1 else each[:, None] for each in columns]
  ends = np.cumsum([each.shape[1] for each in columns])
  vectors = np.empty((len(columns[0]), ends[-1]), np.float32)
  with np.errstate(over='ignore'):  # Infinite ones are refused later.
    for column, end in zip(columns, ends):
      vectors[:, end - column.shape[1] : end] = column
  return vectors


def _sorted(
    fields: dict[str, np.ndarray], chosen: dict[str, list[str]], path: str
) -> tuple[np.ndarray, list[str]]:
  """Returns the rows [n] in the order of time, and a note on jumps in it."""
  steps = fields['step']
  episodes = fields.get('episode', np.zeros(len(steps)))
  order = np.lexsort((steps, episodes))
  is_same = episodes[order][1:] == episodes[order][:-1]
  ahead = np.diff(steps[order])
  twice = np.flatnonzero(is_same & (ahead == 0))
  name = chosen['step'][0]
  if twice.size:
    rows = order[twice[0] : twice[0] + 2]
    raise errors.at(
        path,
        f'the column {name} is {steps[rows[0]]} in row {rows[0]} and in row'
        f' {rows[1]}, of the same episode',
        'expected each step of an episode once',
    )
  jumps = np.flatnonzero(is_same & (ahead != 1))
  if not jumps.size or len(jumps) == is_same.sum():  # Times, not counts.
    return order, []
  return order, [
      f'the column {name} does not go up by 1 in {jumps.size} places, the first'
      f' after row {order[jumps[0]]}: rows may be missing'
  ]
