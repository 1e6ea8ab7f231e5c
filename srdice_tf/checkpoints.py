"""Checkpoints: directories with checksums, written whole or not at all."""

from collections.abc import Callable
import os
import re
import shutil

from srdice_tf import checksums
from srdice_tf import config_file
from srdice_tf import errors

_NAME = re.compile(r'checkpoint-(\d{9,})(\.tmp)?')
_CHECKSUMS = 'checksums.json'  # In a checkpoint, of its other files.


class Checkpoints:
  """Keeps the newest checkpoint in a directory that may hold other things."""

  def __init__(self, directory: str):
    self._directory = directory

  def latest(self) -> str | None:
    """Returns the directory of the newest checkpoint, if there is one.

    Raises:
      UserError: if it is damaged.
    """
    numbers = {number: path for number, path in self._found() if number >= 0}
    if not numbers:
      return None
    checkpoint = numbers[max(numbers)]
    advice = f'remove {checkpoint} to train again'
    path = os.path.join(checkpoint, _CHECKSUMS)
    sums = config_file.read_json(path, advice)
    for name in _files(checkpoint):
      if not isinstance(sums.get(name), str):
        raise errors.at(path, f'lacks a checksum of {name}', advice)
    checksums.verify(checkpoint, sums, advice)
    return checkpoint

  def save(self, number: int, write: Callable[[str], None]):
    """Calls `write(directory)`, then removes the earlier checkpoints.

    Args:
      number: larger than those before, or the same for the same content.
      write: fills a new directory.
    """
    final = os.path.join(self._directory, f'checkpoint-{number:09d}')
    if os.path.exists(final):
      return  # The run was interrupted right after it was saved.
    temporary = f'{final}.tmp'
    shutil.rmtree(temporary, ignore_errors=True)
    os.makedirs(temporary)
    write(temporary)
    sums = checksums.of_directory(temporary)
    config_file.write_json(os.path.join(temporary, _CHECKSUMS), sums)
    os.rename(temporary, final)
    for _, path in self._found():
      if path != final:
        shutil.rmtree(path)

  def _found(self) -> list[tuple[int, str]]:
    """Returns number (-1 if unfinished) and path of each checkpoint."""
    if not os.path.isdir(self._directory):
      return []
    names = map(_NAME.fullmatch, os.listdir(self._directory))
    return [
        (
            -1 if name.group(2) else int(name.group(1)),
            os.path.join(self._directory, name.string),
        )
        for name in names
        if name
    ]


def _files(checkpoint: str) -> list[str]:
  """Returns the files that must have a checksum, by their path from there."""
  found = [
      os.path.relpath(os.path.join(parent, name), checkpoint)
      for parent, _, names in os.walk(checkpoint)
      for name in names
  ]
  return sorted(set(found) - {_CHECKSUMS})
