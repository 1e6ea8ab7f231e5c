"""Reads arrays from users' files; a damaged file is an error of one line."""

import zipfile

import numpy as np

from srdice_tf import errors


def read_npz(path: str) -> list[np.ndarray]:
  """Returns the weights in an .npz file in the order of their names.

  Raises:
    UserError: if they cannot be read or are not finite numbers.
  """
  return list(read_named(path, 'weights').values())


def read_named(path: str, what: str, source: str = '') -> dict[str, np.ndarray]:
  """Returns the arrays of an .npz file by name.

  Args:
    path: of the file.
    what: what it should hold, for errors.
    source: what errors call it; default: its path.

  Raises:
    UserError: if they cannot be read or are not finite numbers.
  """
  source = source or path
  try:
    with zipfile.ZipFile(path) as archive:
      damaged = archive.testzip()  # Compares the checksum of each array.
    if damaged is not None:
      raise ValueError(f'the checksum of {damaged} is wrong')
    with np.load(path, allow_pickle=False) as file:
      arrays = {name: file[name] for name in sorted(file.files)}
  except Exception as error:  # What damage raises depends on where it is.
    raise _unreadable(source, error, f'an .npz file of {what}') from error
  if not arrays:
    raise errors.at(source, 'there are no arrays', f'expected {what}')
  for name, array in arrays.items():
    _check_numbers(array, source, f'array {name}')
    _check_finite(array, source, f'array {name}')
  return arrays


def read_npy(path: str, source: str) -> np.ndarray:
  """Returns the array of an .npy file, which errors call `source`.

  Raises:
    UserError: if it cannot be read or holds no numbers.
  """
  try:
    with open(path, 'rb') as file:
      array = np.lib.format.read_array(file, allow_pickle=False)
  except Exception as error:
    raise _unreadable(source, error, 'an .npy file of probabilities') from error
  _check_numbers(array, source, 'the array')
  return array


def _unreadable(source: str, error: Exception, kind: str) -> errors.UserError:
  reason = (str(error).strip() or type(error).__name__).splitlines()[0]
  return errors.at(
      source, f'cannot be read: {reason.rstrip(".")}', f'expected {kind}'
  )


def _check_numbers(array, source: str, name: str):
  # Anything in an archive that is not an array is read as bytes.
  found = np.asarray(array).dtype
  if found.kind not in 'fiu':
    raise errors.at(source, f'{name} is of {found}', 'expected real numbers')


def _check_finite(array: np.ndarray, source: str, name: str):
  with np.errstate(over='ignore'):
    count = int(np.sum(~np.isfinite(array.astype(np.float32))))
  if count:
    raise errors.at(
        source,
        f'{name} has {count} values that are NaN or infinite',
        'expected finite numbers',
    )
