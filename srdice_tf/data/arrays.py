"""Checks and converts the arrays that a data set is built from."""

import numpy as np

from srdice_tf import errors

FIRST, MID, LAST = 0, 1, 2  # Step types, as in TF-Agents.
_WHERE = 'data set'  # What messages call it.


def checked(
    rows, step_types, actions, rewards, not_done, log_probabilities=None
) -> tuple:
  """Returns the arrays in the types that data sets have.

  Floats become float32; states and actions that are single whole numbers become
  int64; frames stay as they are.

  Args:
    rows: [R, ...] observations.
    step_types: [R].
    actions: [R, A] or [R].
    rewards: [R].
    not_done: [R].
    log_probabilities: [R] or None.

  Raises:
    UserError: if they are not numbers, differ in length, or are not episodes.
  """
  rows = numbers('rows', rows)
  if not rows.ndim:
    raise errors.at(
        _WHERE, 'rows are a single number', 'expected one row an observation'
    )
  arrays = {
      'step_types': numbers('step_types', step_types),
      'actions': numbers('actions', actions),
      'rewards': numbers('rewards', rewards, 'fiub'),
      'not_done': numbers('not_done', not_done, 'fiub'),
  }
  if log_probabilities is not None:
    found = numbers('log_probabilities', log_probabilities)
    arrays['log_probabilities'] = found
  for name, array in arrays.items():
    _check_shape(name, array, rows)
  _check_order(arrays['step_types'])
  arrays['actions'] = converted(arrays['actions'])
  arrays.setdefault('log_probabilities', None)
  return converted(rows), *arrays.values()


def numbers(
    name: str, values, kinds: str = 'fiu', where: str = _WHERE
) -> np.ndarray:
  """Returns values as an array, if they are real numbers.

  Args:
    name: what an error calls them.
    values: anything that numpy takes for an array.
    kinds: numpy's letters for the types that are allowed.
    where: what an error calls the data they belong to.

  Raises:
    UserError: if they are something else.
  """
  try:
    array = np.asarray(values)
  except ValueError:  # Rows of different lengths.
    array = np.empty((), object)
  if array.dtype.kind not in kinds:
    raise errors.at(
        where, f'{name} are of {array.dtype}',
        'expected an array of real numbers',
    )
  return array


def converted(array: np.ndarray) -> np.ndarray:
  """Returns states or actions [R, ...] in the type that data sets have."""
  return array.astype(converted_type(array.dtype, array.ndim), copy=False)


def converted_type(dtype: np.dtype, ndim: int) -> np.dtype:
  """Returns the type that data sets have for numbers of a type."""
  if dtype.kind == 'f':
    return np.dtype(np.float32)
  return np.dtype(np.int64) if ndim == 1 else dtype


def _check_shape(name: str, array: np.ndarray, rows: np.ndarray):
  if array.shape[:1] != rows.shape[:1]:
    raise errors.at(
        _WHERE,
        f'{name} have the shape {array.shape}, rows {rows.shape}',
        'expected one entry for each row',
    )
  if name != 'actions' and array.ndim != 1:
    raise errors.at(
        _WHERE,
        f'{name} have the shape {array.shape}',
        'expected one number for each row',
    )


def _check_order(step_types: np.ndarray):
  other = ~np.isin(step_types, (FIRST, MID, LAST))
  if other.any():
    raise errors.at(
        _WHERE,
        f'step_types has the value {step_types[other][0]}',
        'expected 0 (first), 1 or 2 (last of an episode)',
    )
  is_first = step_types == FIRST
  begins = np.append(True, step_types[:-1] == LAST)[: len(step_types)]
  wrong = np.flatnonzero(begins & ~is_first)
  if wrong.size:
    raise errors.at(
        _WHERE,
        f'row {wrong[0]} begins an episode and has the step type'
        f' {step_types[wrong[0]]}',
        'expected 0',
    )
