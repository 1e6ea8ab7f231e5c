"""Files of arrays, .npz or HDF5, with one row a step; D4RL's are such files.

The keys are those of `array_fields`. In HDF5 files groups, such as D4RL's infos
and metadata, are left alone. Nothing is ever unpickled, and files are opened
for reading only.
"""

import os
import zipfile

import h5py
import numpy as np

from srdice_tf import errors
from srdice_tf.data import logged
from srdice_tf.data.sources import array_checks
from srdice_tf.data.sources import array_fields


def load(path: str) -> logged.Logged:
  """Returns the data of a file, which its extension says the format of.

  Raises:
    UserError: if it is not of that format, or lacks something.
  """
  check_not_empty(path)
  if path.lower().endswith('.npz'):
    return array_fields.load(_read_npz(path), path)
  expected = 'expected an HDF5 file'
  try:
    file = h5py.File(path, 'r')
  except Exception as error:  # What damage raises depends on where it is.
    raise array_checks.unreadable(path, error, expected=expected) from error
  with file:
    return array_fields.load(_of_hdf5(file, path), path)


def check_not_empty(path: str):
  """Raises an error if a file cannot be read, or has nothing in it."""
  try:
    with open(path, 'rb') as file:
      begin = file.read(1)
  except OSError as error:
    raise errors.at(path, error.strerror) from error
  if not begin:
    raise errors.at(os.fspath(path), 'the file is empty')


def _read_npz(path: str) -> dict:
  """Returns the arrays that have a known key, None for the others."""
  expected = 'expected an .npz file as numpy.savez writes it'
  if not zipfile.is_zipfile(path):
    raise errors.at(path, 'is no .npz file, or was cut short', expected)
  arrays = {}
  name = ''
  try:
    with np.load(path, allow_pickle=False) as file:
      for name in file.files:
        arrays[name] = file[name] if array_fields.is_known(name) else None
  except Exception as error:  # As above.
    raise array_checks.unreadable(path, error, name, expected) from error
  return arrays


def _of_hdf5(file: h5py.File, path: str) -> dict:
  """Returns the arrays of a file, of which none is read yet."""
  found = {name: file.get(name) for name in file}
  if 'episode_0' in found:
    raise errors.at(
        path,
        'it has a group for each episode, as those of Minari have',
        'expected the directory of the Minari data set instead',
    )
  for name, item in found.items():
    is_array = isinstance(item, h5py.Dataset)
    if array_fields.is_known(name) and not is_array:
      raise errors.at(path, f'{name} is a group', 'expected an array')
  return {
      name: array_checks.OnDisk(item, path, name)
      for name, item in found.items()
      if isinstance(item, h5py.Dataset)
  }
