"""Checks of arrays with one row a step; errors name file, key and row."""

from collections.abc import Mapping
import dataclasses

import numpy as np

from srdice_tf import errors
from srdice_tf.data import arrays

OBSERVATIONS = 'observations', 'next_observations'
FLAGS = 'terminals', 'timeouts'
_FLAT = ('rewards', *FLAGS, 'episode_ids', 'log_probabilities')
_KINDS = {'rewards': 'fiub', 'terminals': 'fiub', 'timeouts': 'fiub'}
_SHAPES = {
    'observations': 'floats [n, ...] or whole numbers [n]',
    'actions': 'floats [n, A] or whole numbers [n]',
}


@dataclasses.dataclass(frozen=True)
class Origin:
  """Where arrays come from, for errors.

  Attributes:
    where: the file, or the argument of a call.
    names: what the source calls the keys, if it has names of its own.
    order: [n] the number of each row in the source, if rows were sorted.
  """

  where: str
  names: Mapping[str, str] = dataclasses.field(default_factory=dict)
  order: np.ndarray | None = None

  def name(self, key: str) -> str:
    return self.names.get(key, key)

  def row(self, index: int) -> str:
    """Returns what errors call a row; rows are counted from 0."""
    return f'row {self.rows(index)}'

  def rows(self, index):
    """Returns the number in the source of a row, or of rows [k]."""
    return index if self.order is None else self.order[index]

  def error(self, found: str, expected: str = '') -> errors.UserError:
    return errors.at(self.where, found, expected)


class OnDisk:
  """An array of a file that is read part by part.

  Attributes:
    shape: of the whole array.
    dtype: of its numbers.
  """

  def __init__(self, dataset, where: str, name: str):
    """Keeps what is read from.

    Args:
      dataset: has a shape, a dtype and slices, as those of h5py have.
      where: the file.
      name: what errors call the array.
    """
    self._dataset, self._where, self._name = dataset, where, name
    self.shape, self.dtype = dataset.shape or (), dataset.dtype

  @property
  def ndim(self) -> int:
    return len(self.shape)

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, part) -> np.ndarray:
    try:
      return self._dataset[part]
    except (OSError, RuntimeError, ValueError) as error:  # A damaged file.
      raise unreadable(self._where, error, self._name) from error


def unreadable(
    where: str, error: Exception, name: str = '', expected: str = ''
) -> errors.UserError:
  """Returns the error of a file, or of an array in it, that is damaged."""
  lines = str(error).strip().splitlines() or [type(error).__name__]
  found = f'cannot be read: {lines[0].rstrip(".")}'
  return errors.at(where, f'{name} {found}'.strip(), expected)


def checked(fields: Mapping, origin: Origin) -> dict:
  """Returns the fields as arrays of the right shapes and kinds of numbers.

  Args:
    fields: arrays, or what numpy takes for arrays, by their keys.
    origin: of the arrays.

  Raises:
    UserError: that names what is wrong.
  """
  fields = {
      key: _numbers(key, values, origin) for key, values in fields.items()
  }
  observations = fields['observations']
  for key, array in fields.items():
    _check_shape(key, array, origin)
    if len(array) != len(observations):
      raise origin.error(
          f'{origin.name(key)} has {len(array)} rows,'
          f' {origin.name("observations")} {len(observations)}',
          'expected one row for each step',
      )
  if not len(observations):
    raise origin.error('there are no steps')
  _check_alike(fields, origin)
  for key in fields.keys() - set(OBSERVATIONS):  # They are read in parts.
    check_values(key, fields[key], origin)
  return fields


def row_type(array) -> np.dtype:
  """Returns the type that rows of observations get.

  Vectors of whole numbers become floats; pictures [n, H, W, C] of bytes stay.
  """
  is_picture = array.ndim == 4 and array.dtype == np.uint8
  if array.ndim > 1 and not is_picture:
    return np.dtype(np.float32)
  return arrays.converted_type(array.dtype, array.ndim)


def check_values(key: str, values: np.ndarray, origin: Origin, begin: int = 0):
  """Raises an error that names the first row with a value that cannot be.

  Args:
    key: of the array.
    values: [k, ...] some rows of it.
    origin: of the array.
    begin: the number of the first of these rows.
  """
  if key in FLAGS:
    is_wrong, expected = ~np.isin(values, (0, 1)), '0 or 1'
  elif values.dtype.kind == 'f':
    with np.errstate(over='ignore'):
      is_wrong = ~np.isfinite(values.astype(np.float32, copy=False))
    expected = 'finite numbers'
  elif values.ndim == 1 and key in (*OBSERVATIONS, 'actions'):
    is_wrong, expected = values < 0, 'whole numbers from 0'
  else:
    return
  if is_wrong.any():
    first = np.argwhere(is_wrong)[0]
    value = values[tuple(first)]
    raise origin.error(
        f'{origin.name(key)} has the value {value} in'
        f' {origin.row(begin + first[0])}',
        f'expected {expected}',
    )


def _numbers(key: str, values, origin: Origin):
  kinds = _KINDS.get(key, 'fiu')
  if key == 'episode_ids':
    kinds = 'fiubUS'
  if not isinstance(values, OnDisk):
    return arrays.numbers(origin.name(key), values, kinds, origin.where)
  if values.dtype.kind not in kinds:
    raise origin.error(
        f'{origin.name(key)} are of {values.dtype}',
        'expected an array of real numbers',
    )
  return values if key in OBSERVATIONS else values[()]


def _check_shape(key: str, array, origin: Origin):
  """Raises an error if an array has not the rank that its key needs."""
  if key in _FLAT:
    is_right, expected = array.ndim == 1, '[n], one number for each step'
  else:
    is_float = array.dtype.kind == 'f'
    is_right = array.ndim > 1 if is_float else array.ndim > 0
    if key == 'actions':
      is_right = array.ndim == (2 if is_float else 1)
    expected = _SHAPES.get(key, _SHAPES['observations'])
  if not is_right or 0 in array.shape[1:]:
    raise origin.error(
        f'{origin.name(key)} are {_text(array)}', f'expected {expected}'
    )


def _check_alike(fields: Mapping, origin: Origin):
  """Raises an error if next observations are not like observations."""
  if 'next_observations' not in fields:
    return
  here, after = fields['observations'], fields['next_observations']
  is_same_kind = (here.dtype.kind == 'f') == (after.dtype.kind == 'f')
  if here.shape != after.shape or not is_same_kind:
    raise origin.error(
        f'{origin.name("next_observations")} are {_text(after)},'
        f' {origin.name("observations")} {_text(here)}',
        'expected the same shape and kind of numbers',
    )


def _text(array) -> str:
  return f'{array.dtype}{list(array.shape)}'
