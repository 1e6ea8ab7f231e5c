"""Everything that was run below a directory, read for a report."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import functools
import os

import pandas as pd

from srdice_tf import commands
from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import results
from srdice_tf.experiments import result_file
from srdice_tf.reports import run_records

EXPERIMENT = 'experiment.json'
_TABLES = {'chain': 'chain.csv', 'random_rewards': 'random_rewards.csv'}
_COLUMNS = {
    'chain': ('features', 'method', 'step', '0'),
    'random_rewards': ('env', 'seed', 'method', 'reward', 'log_mse'),
}
ORIGIN = 'origin.json'  # Versions and machine of a run.
_ADVICE = 'remove it to run again'


def read(root: str) -> list[run_records.Group]:
  """Returns the runs below a directory, experiment by experiment.

  An experiment is a directory with an experiment.json; runs outside of one are
  a group of their own.

  Args:
    root: the directory, at any height above the runs.

  Raises:
    UserError: if there is no run that can be read, or an experiment.json is
      not what an experiment wrote.
  """
  if not os.path.isdir(root):
    command = commands.line('run_ope', env='Hopper-v4', output_dir=root)
    expected = f'expected a directory of runs; {command} makes one'
    raise errors.UserError('runs', root, expected)
  places = {'': []}  # Directories with something in it, by experiment.
  for directory, below, names in os.walk(root):
    below.sort()
    path = os.path.relpath(directory, root)
    if EXPERIMENT in names:
      places.setdefault(path, [])
    wanted = {result_file.FILE_NAME, *_TABLES.values()}
    if not wanted.isdisjoint(names):
      places[_owner(path, places)].append(path)
  groups = [
      _group(root, experiment, found)
      for experiment, found in places.items()
      if experiment or found
  ]
  if not any(group.records or group.tables for group in groups):
    for group in groups:
      for error in group.damaged.values():
        raise error
    raise errors.UserError(
        'runs',
        root,
        f'no run is finished there, none has a {result_file.FILE_NAME}; make'
        f' one with {commands.line("run_ope", env="Pendulum-v1")}',
    )
  return groups


def _owner(path: str, experiments) -> str:
  """Returns the experiment that a directory belongs to, '' for none."""
  while path not in experiments:
    if path in ('', '.'):
      return ''
    path = os.path.dirname(path) or '.'
  return path


def _group(
    root: str, experiment: str, directories: Sequence[str]
) -> run_records.Group:
  description = {}
  if experiment:
    path = os.path.normpath(os.path.join(root, experiment, EXPERIMENT))
    description = config_file.read_json(path, _ADVICE)
    version = description.get('version', results.VERSION)
    if version != results.VERSION:
      found = f'has the version {version}, expected {results.VERSION}'
      raise errors.at(path, found, _ADVICE)
  name = str(description.get('name', ''))
  done = [d for d in directories if result_file.exists(os.path.join(root, d))]
  planned = [
      os.path.normpath(os.path.join(experiment, each))
      for each in description.get('runs', ())
  ]
  damaged = {}
  origin = description.get('origin') or {}
  return run_records.Group(
      name=name,
      title=description.get('title') or name or 'Runs',
      caption=description.get('caption', ''),
      scale=description.get('scale', ''),
      command=description.get('command', ''),
      origins=_origins(root, directories, origin),
      records=list(_readable(done, lambda d: _record(root, d), damaged)),
      missing=[each for each in planned if each not in directories],
      tables=_tables(root, experiment, directories, damaged),
      damaged=damaged,
  )


def _readable(keys, read_one: Callable, damaged: dict) -> Iterator:
  """Yields what can be read, and notes what cannot."""
  for key in keys:
    try:
      yield read_one(key)
    except errors.UserError as error:
      damaged[key] = error


def _origins(root: str, directories: Sequence[str], usual) -> dict[str, dict]:
  """Returns where each run was made; `usual` is of those that do not say."""
  found = {}
  for each in directories:
    path = os.path.join(root, each, ORIGIN)
    found[each] = usual
    with contextlib.suppress(errors.UserError):
      if os.path.exists(path):
        found[each] = config_file.read_json(path, _ADVICE)
  return {each: origin for each, origin in found.items() if origin}


def _record(root: str, directory: str) -> run_records.RunRecord:
  path = os.path.normpath(os.path.join(root, directory))
  config = os.path.join(path, config_file.FILE_NAME)
  return run_records.RunRecord(
      directory,
      result_file.read(path),
      config_file.read_json(config, _ADVICE) if os.path.exists(config) else {},
  )


def _tables(
    root: str, experiment: str, directories: Sequence[str], damaged: dict
) -> dict[str, pd.DataFrame]:
  """Returns the further tables, those of one kind below each other.

  Each says in the column 'label' of which setting of the experiment it is.
  """
  tables = {}
  for kind, name in _TABLES.items():
    paths = [os.path.join(each, name) for each in directories]
    there = [p for p in paths if os.path.exists(os.path.join(root, p))]
    read_one = functools.partial(_table, kind, root, experiment)
    found = list(_readable(there, read_one, damaged))
    if found:
      tables[kind] = pd.concat(found, ignore_index=True)
  return tables


def _label(path: str) -> str:
  """Returns the setting of a run, by where it is: setting, task and seed."""
  return ('', '', *path.split(os.sep))[-3]


def _table(kind: str, root: str, experiment: str, file: str) -> pd.DataFrame:
  path = os.path.normpath(os.path.join(root, file))
  try:
    table = pd.read_csv(path)
  except (OSError, ValueError) as error:
    reason = ' '.join(str(error).split())
    raise errors.at(path, f'cannot be read ({reason})', _ADVICE) from error
  lacks = [name for name in _COLUMNS[kind] if name not in table.columns]
  if lacks:
    raise errors.at(path, f'lacks the columns {", ".join(lacks)}', _ADVICE)
  label = _label(os.path.relpath(os.path.dirname(file), experiment or '.'))
  return table.assign(label=label)
