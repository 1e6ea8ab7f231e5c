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

MINARI, REVERB = 'minari:', 'reverb:'
TIMEOUT_SECONDS = 30.0


def _module(source: str):
  return importlib.import_module(f'srdice_tf.data.sources.{source}')


class _Options(NamedTuple):
  """What some sources want to know beside the name of the data."""

  columns: str
  timeout: float


def _load_with(source: str) -> Callable[[str, _Options], logged.Logged]:
  """Returns the `load` of a source that needs a name only."""

  def load(name: str, options: _Options) -> logged.Logged:
    _check_no_columns(name, options)
    return _module(source).load(name)

  return load


def _load_table(name: str, options: _Options) -> logged.Logged:
  return _module('table_file').load(name, options.columns)


def _load_server(name: str, options: _Options) -> logged.Logged:
  _check_no_columns(name, options)
  address, _, table = name.removeprefix(REVERB).partition('/')
  return _module('agents_server').load(address, table, options.timeout)


def _check_no_columns(name: str, options: _Options):
  if options.columns:
    raise errors.UserError(
        'columns', options.columns,
        f'plays no part with data={name}; only tables have columns',
    )


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
    load: takes the name and the options, returns the data.
  """

  text: str
  fits: Callable[[str], bool]
  load: Callable[[str, _Options], logged.Logged]


# To add one: a file in sources/ whose load(name) returns a logged.Logged, and
# a line here. The first that fits is taken.
KINDS = (
    DataKind(
        'minari:ID, a data set of Minari that is on this machine',
        lambda name: name.startswith(MINARI),
        _load_with('minari_data'),
    ),
    DataKind(
        "reverb:HOST:PORT/TABLE, a server that TF-Agents' observers fill",
        lambda name: name.startswith(REVERB),
        _load_server,
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
        'TFRecord files of TF-Agents with their .spec: a file, a pattern or a'
        ' directory',
        lambda name: _module('tfrecord_files').fits(name),
        _load_with('tfrecord_files'),
    ),
    DataKind(
        'a directory of an RLDS data set',
        _holds('features.json', 'dataset_info.json'),
        _load_with('rlds_directory'),
    ),
)


def open_data(
    name: str, columns: str = '', timeout: float = TIMEOUT_SECONDS
) -> logged.Logged:
  """Returns logged data, which are only read and never changed.

  Args:
    name: a file, a directory or an id of one of the KINDS.
    columns: which columns of a table are what, see `sources.table_file`.
    timeout: seconds to wait for the answers of a server.

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
  return kind.load(name, _Options(columns, timeout))


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
