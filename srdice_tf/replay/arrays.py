"""Checks and converts the arrays that a data set is built from."""

import numpy as np

from srdice_tf import errors
from srdice_tf.replay import rows as rows_lib

_STEP_TYPES = rows_lib.FIRST, rows_lib.MID, rows_lib.LAST


def checked(rows, step_types, actions, rewards, not_done) -> tuple:
  """Returns the arrays in the types that data sets have.

  Floats become float32, states and actions that are whole numbers int64;
  frames stay as they are.

  Args:
    rows: [R, ...] observations.
    step_types: [R].
    actions: [R, A] or [R].
    rewards: [R].
    not_done: [R].

  Raises:
    UserError: if they are no numbers, not of one length, or no episodes.
  """
  rows = _numbers('rows', rows, 'fiu')
  arrays = {
      'step_types': _numbers('step_types', step_types, 'fiu'),
      'actions': _numbers('actions', actions, 'fiu'),
      'rewards': _numbers('rewards', rewards, 'fiub'),
      'not_done': _numbers('not_done', not_done, 'fiub'),
  }
  for name, array in arrays.items():
    if array.shape[:1] != rows.shape[:1] or not rows.ndim:
      raise errors.UserError(
          f'data set: {name} have the shape {array.shape}, rows {rows.shape};'
          ' expected one entry for each row.'
      )
    if name != 'actions' and array.ndim != 1:
      raise errors.UserError(
          f'data set: {name} have the shape {array.shape}; expected one number'
          ' for each row.'
      )
  _check_order(arrays['step_types'])
  return _converted(rows), *(
      _converted(array) if name == 'actions' else array
      for name, array in arrays.items()
  )


def _numbers(name: str, values, kinds: str) -> np.ndarray:
  try:
    array = np.asarray(values)
  except ValueError:  # Rows of different lengths.
    array = np.empty((), object)
  if array.dtype.kind not in kinds:
    raise errors.UserError(
        f'data set: {name} are of {array.dtype}; expected an array of real'
        ' numbers.'
    )
  return array


def _converted(array: np.ndarray) -> np.ndarray:
  if array.dtype.kind == 'f':
    return array.astype(np.float32, copy=False)
  return array.astype(np.int64, copy=False) if array.ndim == 1 else array


def _check_order(step_types: np.ndarray):
  other = ~np.isin(step_types, _STEP_TYPES)
  if other.any():
    raise errors.UserError(
        f'data set: step_types has the value {step_types[other][0]}; expected'
        ' 0 (first), 1 or 2 (last of an episode).'
    )
  is_first = step_types == rows_lib.FIRST
  begins = np.append(True, step_types[:-1] == rows_lib.LAST)[: len(step_types)]
  wrong = np.flatnonzero(begins & ~is_first)
  if wrong.size:
    raise errors.UserError(
        f'data set: row {wrong[0]} begins an episode and has the step type'
        f' {step_types[wrong[0]]}; expected 0.'
    )
