"""The settings of a run, in its directory: the same command resumes it."""

from collections.abc import Collection
import dataclasses
import json
import os

import numpy as np

from srdice_tf import errors

FILE_NAME = 'config.json'


def make_directory(directory: str):
  """Makes the directory of a run, so that a wrong path fails before any work.

  Raises:
    UserError: if it cannot be made.
  """
  try:
    os.makedirs(directory, exist_ok=True)
  except OSError as error:
    raise errors.UserError(
        f'--output_dir={directory}: {error.strerror}.'
    ) from error


def claim(directory: str, config, changeable: Collection[str] = ()):
  """Writes the settings, or refuses a directory that holds a run of others.

  A field that the file lacks is younger than the run, which then was as its
  default is.

  Args:
    directory: of the run; is made if it is not there.
    config: a dataclass.
    changeable: fields in which a run that goes on may differ.

  Raises:
    UserError: if a field differs; it is named.
  """
  make_directory(directory)
  path = os.path.join(directory, FILE_NAME)
  wanted = json.loads(json.dumps(dataclasses.asdict(config)))
  if os.path.exists(path):
    found = read_json(path, 'remove it or choose another directory')
    for name, old, new in _differences(found, wanted, _defaults(config)):
      if name not in changeable:
        raise errors.UserError(
            f'--output_dir: {directory} holds a run with {name}={old}, asked'
            f' for is {new}; choose another directory.'
        )
    if found == wanted:
      return
  write_json(path, wanted)


def _differences(found, wanted, defaults, prefix: str = ''):
  """Yields name, old and new value of each field that differs."""
  for key in {**found, **wanted}:
    old, new = found.get(key, defaults.get(key)), wanted.get(key)
    if isinstance(old, dict) and isinstance(new, dict):
      yield from _differences(
          old, new, defaults.get(key) or {}, f'{prefix}{key}.'
      )
    elif old != new:
      yield prefix + key, old, new


def _defaults(config) -> dict:
  """Returns the default of each field that has one."""
  found = {}
  for field in dataclasses.fields(config):
    value = getattr(config, field.name)
    if dataclasses.is_dataclass(value):
      found[field.name] = _defaults(value)
    elif field.default is not dataclasses.MISSING:
      found[field.name] = field.default
  return json.loads(json.dumps(found))


def read_json(path: str, advice: str) -> dict:
  """Returns the object in a file that a run left behind.

  Args:
    path: of the file.
    advice: ends the message, such as 'remove it to run anew'.

  Raises:
    UserError: if it cannot be read, or holds something else.
  """
  try:
    with open(path, encoding='utf-8') as file:
      content = json.load(file)
  except (OSError, ValueError, RecursionError) as error:
    reason = ' '.join(str(error).split()) or 'nested too deeply'
    raise errors.UserError(
        f'{path}: cannot be read as JSON ({reason}); {advice}.'
    ) from error
  if not isinstance(content, dict):
    kind = type(content).__name__
    raise errors.UserError(
        f'{path}: holds a {kind}, expected an object with names; {advice}.'
    )
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
