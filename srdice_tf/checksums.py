"""Checksums of files, to find those that were cut short or edited."""

import hashlib
import os

from srdice_tf import errors


def of_file(path: str) -> str:
  with open(path, 'rb') as file:
    return hashlib.file_digest(file, 'sha256').hexdigest()


def of_directory(directory: str) -> dict[str, str]:
  """Returns the checksum of each file below, by its relative path."""
  paths = (
      os.path.join(parent, name)
      for parent, _, names in os.walk(directory)
      for name in names
  )
  return {os.path.relpath(p, directory): of_file(p) for p in sorted(paths)}


def verify(directory: str, expected: dict[str, str], advice: str):
  """Compares the files of a directory with what they were.

  Args:
    directory: of the files.
    expected: what `of_directory` returned.
    advice: what to do, for the message, such as 'collect it again'.

  Raises:
    UserError: if a file is missing, cut short or edited.
  """
  for name, checksum in expected.items():
    path = os.path.join(directory, name)
    if not os.path.exists(path):
      raise errors.at(path, 'missing', advice)
    found = of_file(path)
    if found != checksum:
      raise errors.at(
          path,
          f'cut short or edited, its checksum is {found[:12]}, expected'
          f' {checksum[:12]}',
          advice,
      )
