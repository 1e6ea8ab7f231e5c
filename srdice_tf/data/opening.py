"""Opens logged data by name, whatever their format; KINDS has one line a kind.

Sources are imported when they are asked for: most of them need a library that
the others do not.
"""

from collections.abc import Callable
from collections.abc import Mapping
import importlib
import os
from typing import NamedTuple

import numpy as np

from srdice_tf import errors
from srdice_tf.data import logged

MINARI = 'minari:'


def _module(source: str):
  return importlib.import_module(f'srdice_tf.data.sources.{source}')


def _load_with(source: str) -> Callable[[str, str], logged.Logged]:
  """Returns the `load` of a source that knows no columns."""

  def load(name: str, columns: str) -> logged.Logged:
    if columns:
      raise errors.UserError(
          'columns', columns,
          f'plays no part with data={name}; only tables have columns',
      )
    return _module(source).load(name)

  return load


def _load_table(name: str, columns: str) -> logged.Logged:
  return _module('table_file').load(name, columns)


def _is_file(*extensions: str) -> Callable[[str], bool]:
  return lambda name: (
      name.lower().endswith(extensions) and os.path.isfile(name)
  )


def _holds(*files: str) -> Callable[[str], bool]:
  """Returns whether a directory holds one of some files."""
  return lambda name: any(
      os.path.isfile(os.path.join(name, file)) for file in files
  )


class DataKind(NamedTuple):
  """A kind of data.

  Attributes:
    text: what messages call it.
    fits: whether a name is of this kind.
    load: takes the name and the columns, returns the data.
  """

  text: str
  fits: Callable[[str], bool]
  load: Callable[[str, str], logged.Logged]


# To add one: a file in sources/ whose load(name) returns a logged.Logged, and
# a line here. The first that fits is taken.
KINDS = (
    DataKind(
        'minari:ID, a data set of Minari that is on this machine',
        lambda name: name.startswith(MINARI),
        _load_with('minari_data'),
    ),
    DataKind(
        'a file of arrays (.npz)', _is_file('.npz'), _load_with('array_file')
    ),
    DataKind(
        'a file of arrays as D4RL has them (.hdf5, .h5)',
        _is_file('.hdf5', '.h5'),
        _load_with('array_file'),
    ),
    DataKind(
        'a table with columns (.csv, .parquet)',
        _is_file('.csv', '.parquet'),
        _load_table,
    ),
    DataKind(
        'a directory that collect_dataset.py wrote',
        _holds('dataset.json'),
        _load_with('collected_directory'),
    ),
    DataKind(
        'a directory of a Minari data set',
        _holds('data/metadata.json', 'metadata.json'),
        _load_with('minari_data'),
    ),
    DataKind(
        'a TFRecord file of TF-Agents with its .spec beside it',
        lambda name: os.path.isfile(f'{name}.spec'),
        _load_with('tfrecord_files'),
    ),
    DataKind(
        'a directory of an RLDS data set',
        _holds('features.json', 'dataset_info.json'),
        _load_with('rlds_directory'),
    ),
)


def open_data(name: str, columns: str = '') -> logged.Logged:
  """Returns logged data, which are only read and never changed.

  Args:
    name: a file, a directory or an id of one of the KINDS.
    columns: which columns of a table are what, see `sources.table_file`.

  Raises:
    UserError: if there are no such data, or they cannot be used.
  """
  kind = next((kind for kind in KINDS if kind.fits(name)), None)
  if kind is None:
    is_there = os.path.exists(name)
    found = 'of no known kind' if is_there else 'no such file or directory'
    expected = '; '.join(kind.text for kind in KINDS)
    raise errors.UserError(
        'data', name, f'{found}; expected one of: {expected}'
    )
  return kind.load(name, columns)


def from_arrays(
    arrays: Mapping[str, np.ndarray], where: str = 'arrays'
) -> logged.Logged:
  """Returns the data of arrays [n, ...], one row a step.

  Args:
    arrays: observations, actions, rewards, terminals, timeouts, and where
      there are some next_observations, episode_ids and log_probabilities.
    where: what errors call them.

  Raises:
    UserError: if they cannot be used, see `sources.array_fields`.
  """
  return _module('array_fields').load(arrays, where)
