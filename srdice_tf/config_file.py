"""The settings of a run, in its directory: the same command resumes it."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import errno
import glob
import json
import os
from typing import Any

import numpy as np

from srdice_tf import errors
from srdice_tf import locks

FILE_NAME = 'config.json'
_FIELD = 'output_dir'  # As the configs of runs call their directory.


def make_directory(directory: str):
  """Makes the directory of a run, so that a wrong path fails before any work.

  Raises:
    UserError: if it cannot be made.
  """
  try:
    os.makedirs(directory, exist_ok=True)
  except OSError as error:
    raise errors.UserError(_FIELD, directory, error.strerror) from error


def check_path(directory: str, field: str = _FIELD):
  """Refuses a directory that could not be made or written to; makes none.

  Args:
    directory: which may be there.
    field: name of the setting.

  Raises:
    UserError: with the reason.
  """
  directory = os.fspath(directory)
  parent = os.path.abspath(directory)
  while not os.path.lexists(parent):
    parent = os.path.dirname(parent)
  reason = None
  if not os.path.isdir(parent):
    reason = os.strerror(errno.ENOTDIR)
  elif not os.access(parent, os.W_OK | os.X_OK):
    reason = os.strerror(errno.EACCES)
  if reason:
    raise errors.UserError(field, directory, reason)


def check(
    directory: str,
    config,
    changeable: Collection[str] = (),
    traces: Collection[str] = (),
    known: Mapping | None = None,
) -> dict | None:
  """Refuses a directory that holds a run of other settings; writes nothing.

  A field that the file lacks was added after the run, which then had its
  default.

  Args:
    directory: of the run.
    config: a dataclass, or a dict of JSON.
    changeable: fields in which a run that goes on may differ.
    traces: patterns of files that a run goes on from; without a config.json
      nobody knows which settings they belong to.
    known: defaults of the fields, if `config` is no dataclass that has them.

  Returns:
    The settings that are there; None if there are none.

  Raises:
    UserError: if a field differs, which is named, or the directory cannot be
      used.
  """
  check_path(directory)
  path = os.path.join(directory, FILE_NAME)
  if not os.path.exists(path):
    left = [n for t in traces for n in sorted(glob.glob(t, root_dir=directory))]
    if left:
      raise errors.UserError(
          _FIELD,
          directory,
          f'holds {", ".join(left)} of a run, but no {FILE_NAME} that says of'
          ' which; choose another directory, or remove them to start again',
      )
    return None
  advice = 'remove it or choose another directory'
  found = read_json(path, advice)
  for name, value in _as_json(config).items():
    there = found.get(name, {} if found else None)
    if isinstance(value, dict) and not isinstance(there, dict):
      raise errors.at(path, f'has no settings under {name}', advice)
  known = defaults(config) if known is None else known
  for name, old, new in differences(found, config, known):
    if name not in changeable:
      raise errors.UserError(
          _FIELD,
          directory,
          f'holds a run with {name}={old}, asked for is {new}; choose another'
          ' directory',
      )
  return found


def claim(
    directory: str,
    config,
    changeable: Collection[str] = (),
    traces: Collection[str] = (),
    known: Mapping | None = None,
):
  """Writes the settings, or refuses a directory that holds a run of others.

  The directory is made if it is not there; arguments as for `check`.

  Raises:
    UserError: as `check` does, or if the directory cannot be made.
  """
  found = check(directory, config, changeable, traces, known)
  make_directory(directory)
  if found != _as_json(config):
    write_json(os.path.join(directory, FILE_NAME), _as_json(config))


@contextlib.contextmanager
def hold(directory: str) -> Iterator[None]:
  """Makes and locks the directory of a run.

  If the run fails before it has claimed the directory, what was made for it is
  removed, so that the corrected command finds no trace of it.

  Raises:
    UserError: if it cannot be made, or another process works in it.
  """
  made = []  # From the directory itself to the first that was not there.
  parent = os.path.abspath(directory)
  while not os.path.lexists(parent):
    made.append(parent)
    parent = os.path.dirname(parent)
  make_directory(directory)
  lock = locks.Lock(directory, _FIELD)
  try:
    yield
  except BaseException:
    if made and not os.path.exists(os.path.join(directory, FILE_NAME)):
      os.remove(os.path.join(directory, locks.FILE_NAME))
      with contextlib.suppress(OSError):  # Something else is there by now.
        for path in made:
          os.rmdir(path)
    raise
  finally:
    lock.release()


def _as_json(config) -> dict:
  if dataclasses.is_dataclass(config):
    config = dataclasses.asdict(config)
  return json.loads(json.dumps(config))


def differences(
    found: Mapping, config, known: Mapping
) -> Iterator[tuple[str, Any, Any]]:
  """Yields name, old and new value of each field that differs.

  Args:
    found: the settings that are there.
    config: a dataclass, or a dict of JSON.
    known: defaults of fields that `found` may lack.
  """
  return _differences(found, _as_json(config), _as_json(known))


def _differences(found, wanted, known, prefix: str = ''):
  for key in {**found, **wanted}:
    old, new = found.get(key, known.get(key)), wanted.get(key)
    if isinstance(old, dict) and isinstance(new, dict):
      below = known.get(key) or {}
      yield from _differences(old, new, below, f'{prefix}{key}.')
    elif old != new:
      yield prefix + key, old, new


def defaults(config) -> dict:
  """Returns the default of each field that has one."""
  if not dataclasses.is_dataclass(config):
    return {}
  found = {}
  for field in dataclasses.fields(config):
    value = getattr(config, field.name)
    if dataclasses.is_dataclass(value):
      found[field.name] = defaults(value)
    elif field.default is not dataclasses.MISSING:
      found[field.name] = field.default
  return json.loads(json.dumps(found))


def read_json(path: str, advice: str) -> dict:
  """Returns the object in a file that a run left behind.

  Args:
    path: of the file.
    advice: ends the message, such as 'remove it to run again'.

  Raises:
    UserError: if it cannot be read, or holds something else.
  """
  try:
    with open(path, encoding='utf-8') as file:
      content = json.load(file)
  except (OSError, ValueError, RecursionError) as error:
    reason = ' '.join(str(error).split()) or 'nested too deeply'
    found = f'cannot be read as JSON ({reason})'
    raise errors.at(path, found, advice) from error
  if not isinstance(content, dict):
    kind = type(content).__name__
    found = f'holds a {kind}, expected an object with names'
    raise errors.at(path, found, advice)
  return content


def write_json(path: str, content):
  """Writes a file that is there whole or not at all."""
  temporary = path + '.tmp'
  with open(temporary, 'w') as file:
    json.dump(content, file, indent=2, default=_plain)
    file.write('\n')
  os.replace(temporary, path)


def _plain(value):
  return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
