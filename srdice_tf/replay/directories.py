"""A data set on disk: Reverb's own checkpoint and a dataset.json beside it.

    dataset.json               names one checkpoint, with its checksums
    replay/<time>/             that checkpoint
    unfinished/<time>/         where Reverb writes; it deletes older ones
    .lock                      which process uses the directory

The checkpoint that dataset.json names is the data set. A newer one is moved
from `unfinished` to `replay`, marked as new, and named by an atomic replacement
of dataset.json before the older one is removed. So there is always one complete
data set, whenever a process is killed. Anything in these directories that is
neither named nor marked was not written by this program: it is left alone, and
the user is told.
"""

import contextlib
from importlib import metadata
import json
import os
import pathlib
import shutil

from srdice_tf import checksums
from srdice_tf import commands
from srdice_tf import errors
from srdice_tf import locks
from srdice_tf.replay import descriptions
from srdice_tf.replay import reverb_files

_JSON = 'dataset.json'
_PACKAGES = (
    'tensorflow',
    'tf-agents',
    'dm-reverb',
    'gymnasium',
    'mujoco',
    'ale-py',
    'numpy',
)
COLLECTING, COMPLETE = descriptions.COLLECTING, descriptions.COMPLETE
_ADVICE = (
    'put back the file as it was written, or collect the data set again in'
    ' another directory'
)


class DatasetDirectory:
  """Reads and writes the directory of one data set."""

  def __init__(self, path: str):
    self.path = path
    self.replay_path = os.path.join(path, 'replay')
    self.unfinished_path = os.path.join(path, 'unfinished')
    self._json_path = os.path.join(path, _JSON)

  def exists(self) -> bool:
    return os.path.exists(self._json_path)

  def create(self):
    """Makes the directory now, so that a wrong path fails before any work."""
    try:
      os.makedirs(self.replay_path, exist_ok=True)
    except OSError as error:
      raise errors.UserError(
          'dataset_dir', self.path, error.strerror
      ) from error

  def lock(self, shared: bool = False) -> locks.Lock:
    """Takes the lock, exclusively or shared with other readers.

    Raises:
      UserError: if another process has it.
    """
    return locks.Lock(self.path, 'dataset_dir', shared)

  def read(self) -> dict:
    """Returns dataset.json, checked for its form."""
    try:
      with open(self._json_path) as file:
        description = json.load(file)
    except FileNotFoundError:
      raise self._missing() from None
    except (OSError, ValueError, RecursionError) as error:
      raise errors.at(
          self._json_path, f'not readable as JSON ({error})', _ADVICE
      ) from error
    fault = descriptions.fault(description)
    if fault:
      raise errors.at(self._json_path, fault, _ADVICE)
    return description

  def verify(self) -> dict:
    """Returns dataset.json after a check of the checkpoint it names.

    Raises:
      UserError: if a file is missing, cut short or edited, or if there are
        other files.
    """
    description = self.read()
    self._refuse_strangers(description)
    checksums.verify(
        self.checkpoint_path(description),
        description['checksums'],
        'the data set is damaged, collect it again in another directory',
    )
    return description

  def checkpoint_path(self, description: dict) -> str:
    return os.path.join(self.replay_path, description['checkpoint'])

  def compare(self, description: dict, found: dict):
    """Compares dataset.json with the description that the data hold.

    Raises:
      UserError: naming the field that differs.
    """
    difference = descriptions.difference(description, found)
    if difference:
      raise errors.at(self._json_path, f'edited, its {difference}', _ADVICE)

  def recover(self) -> tuple[str | None, bool]:
    """Returns the checkpoint to go on with, and whether it is named.

    Keeps the newest complete checkpoint that a killed process left and removes
    the others. The caller must hold the lock exclusively.

    Raises:
      UserError: if the data set is damaged, or if there are directories that
        this program did not write.
    """
    description = self.verify() if self.exists() else {}
    self._refuse_strangers(description)
    named = description.get('checkpoint', '')
    left = [
        path
        for path in self._entries()
        if os.path.basename(path) != named
    ]
    newer = [
        path
        for path in left
        if os.path.basename(path) > named
        and reverb_files.is_whole(path)
        and not path.endswith(reverb_files.REMOVED)
    ]
    kept = max(newer, key=os.path.basename, default=None)
    for path in left:
      if path != kept:
        self.remove(path)
    if kept:
      return self.take(kept), False
    return (self.checkpoint_path(description) if named else None), True

  def newest_unfinished(self) -> str | None:
    """Returns the newest checkpoint that Reverb has finished, if any."""
    whole = filter(reverb_files.is_whole, _directories(self.unfinished_path))
    return max(whole, default=None)

  def take(self, checkpoint: str) -> str | None:
    """Moves a checkpoint to its place, marked as new; returns where it is.

    Returns None if Reverb has removed it, as it does for a newer one.
    """
    place = os.path.join(self.replay_path, os.path.basename(checkpoint))
    if checkpoint != place:
      try:
        pathlib.Path(checkpoint, reverb_files.NEW).touch()
        os.rename(checkpoint, place)
      except FileNotFoundError:
        return None
    if reverb_files.is_whole(place):
      return place
    self.remove(place)
    return None

  def commit(self, checkpoint: str, description: dict):
    """Makes a checkpoint in its place the data set, and removes the older."""
    older = self.read()['checkpoint'] if self.exists() else None
    sums = checksums.of_directory(checkpoint)
    sums.pop(reverb_files.NEW, None)
    description = {
        'format': descriptions.FORMAT,
        **description,
        'checkpoint': os.path.basename(checkpoint),
        'replaces': older,
        'checksums': sums,
        'versions': {name: metadata.version(name) for name in _PACKAGES},
    }
    temporary = self._json_path + '.tmp'
    with open(temporary, 'w') as file:
      json.dump(description, file, indent=2)
      file.write('\n')
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, self._json_path)
    pathlib.Path(checkpoint, reverb_files.NEW).unlink(missing_ok=True)
    if older and older != description['checkpoint']:
      self.remove(os.path.join(self.replay_path, older))

  def remove(self, checkpoint: str):
    """Removes a checkpoint, renamed first so that a rest can be recognised."""
    if not os.path.isdir(checkpoint):
      return
    removed = checkpoint
    if not checkpoint.endswith(reverb_files.REMOVED):
      removed = checkpoint + reverb_files.REMOVED
      os.rename(checkpoint, removed)
    shutil.rmtree(removed)

  def tidy(self):
    """Removes Reverb's directory if it is empty."""
    with contextlib.suppress(OSError):
      os.rmdir(self.unfinished_path)

  def _entries(self) -> list[str]:
    return [
        *_directories(self.replay_path),
        *_directories(self.unfinished_path),
    ]

  def _refuse_strangers(self, description: dict):
    """Raises an error that names a directory we did not write."""
    known = description.get('checkpoint'), description.get('replaces')
    for path in self._entries():
      is_own = (
          os.path.basename(path) in known
          if os.path.dirname(path) == self.replay_path
          else reverb_files.is_like_one(path)
      )
      if is_own or reverb_files.is_marked(path):
        continue
      if not description and reverb_files.is_whole(path):
        raise self._missing()
      raise errors.at(
          path,
          'not part of this data set, and left untouched',
          'move it elsewhere or choose another dataset_dir',
      )

  def _missing(self) -> errors.UserError:
    """Returns the error of a dataset.json that is not there."""
    whole = filter(reverb_files.is_whole, _directories(self.replay_path))
    checkpoint = next(whole, None)
    if checkpoint is None:
      return errors.UserError(
          'dataset_dir',
          self.path,
          f'there is no {_JSON}; collect a data set with'
          f' {commands.name("collect_dataset")}',
      )
    return errors.at(
        self._json_path,
        f'missing, but there is the checkpoint {checkpoint}, which is left'
        ' untouched',
        f'put {_JSON} back, or choose another dataset_dir',
    )


def _directories(path: str) -> list[str]:
  """Returns the paths of the directories in a directory, if it is there."""
  if not os.path.isdir(path):
    return []
  paths = (os.path.join(path, name) for name in sorted(os.listdir(path)))
  return [each for each in paths if os.path.isdir(each)]
