"""A data set on disk: Reverb's own checkpoint and a dataset.json beside it.

The checkpoint that dataset.json names is the data set. A newer one is written
beside it, checked, and named by an atomic replacement of dataset.json before
the older one is removed: whatever moment a process is killed at, one complete
data set is there.
"""

from importlib import metadata
import json
import os
import shutil

from srdice_tf import checksums
from srdice_tf import errors

_JSON = 'dataset.json'
_REPLAY = 'replay'
_DONE = 'DONE'  # Reverb writes this file last.
_PACKAGES = (
    'tensorflow',
    'tf-agents',
    'dm-reverb',
    'gymnasium',
    'mujoco',
    'ale-py',
    'numpy',
)
COLLECTING, COMPLETE = 'collecting', 'complete'


class DatasetDirectory:
  """Reads and writes the directory of one data set."""

  def __init__(self, path: str):
    self.path = path
    self.replay_path = os.path.join(path, _REPLAY)
    self._json_path = os.path.join(path, _JSON)

  def exists(self) -> bool:
    return os.path.exists(self._json_path)

  def create(self):
    """Makes the directory, so that a wrong path fails before any work."""
    try:
      os.makedirs(self.replay_path, exist_ok=True)
    except OSError as error:
      raise errors.UserError(
          f'--dataset_dir={self.path}: {error.strerror}.'
      ) from error

  def read(self) -> dict:
    """Returns what dataset.json says."""
    try:
      with open(self._json_path) as file:
        return json.load(file)
    except FileNotFoundError:
      raise errors.UserError(
          f'--dataset_dir={self.path}: there is no {_JSON}; collect a data set'
          ' with binaries/collect_dataset.py.'
      ) from None
    except (OSError, ValueError) as error:
      raise errors.UserError(
          f'{self._json_path}: not readable as JSON ({error}).'
      ) from error

  def verify(self) -> dict:
    """Returns dataset.json after a check of the checkpoint it names.

    Raises:
      UserError: if a file is missing, cut short or edited.
    """
    description = self.read()
    checkpoint = self._checkpoint_path(description)
    checksums.verify(
        checkpoint, description['checksums'], 'the data set is damaged'
    )
    return description

  def commit(self, checkpoint: str, description: dict):
    """Makes a new checkpoint the data set and removes the others."""
    description = {
        **description,
        'checkpoint': os.path.basename(checkpoint),
        'checksums': checksums.of_directory(checkpoint),
        'versions': {name: metadata.version(name) for name in _PACKAGES},
    }
    temporary = self._json_path + '.tmp'
    with open(temporary, 'w') as file:
      json.dump(description, file, indent=2)
      file.write('\n')
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, self._json_path)
    self._remove_older(description['checkpoint'])

  def remove_others(self, description: dict | None = None):
    """Removes checkpoints that dataset.json does not name.

    Reverb loads the newest one it finds, which must be the one that is named.
    """
    description = description or (self.read() if self.exists() else {})
    for name in os.listdir(self.replay_path):
      if name != description.get('checkpoint'):
        shutil.rmtree(os.path.join(self.replay_path, name), ignore_errors=True)

  def newest_unnamed(self) -> str | None:
    """Returns the newest whole checkpoint if dataset.json names another."""
    whole = [
        name
        for name in os.listdir(self.replay_path)
        if os.path.exists(os.path.join(self.replay_path, name, _DONE))
    ]
    named = self.read().get('checkpoint') if self.exists() else None
    if not whole or max(whole) == named:
      return None
    return os.path.join(self.replay_path, max(whole))

  def _remove_older(self, checkpoint: str):
    """Removes older checkpoints; a newer one may just be being written."""
    for name in os.listdir(self.replay_path):
      if name < checkpoint:  # Their names are times.
        shutil.rmtree(os.path.join(self.replay_path, name), ignore_errors=True)

  def _checkpoint_path(self, description: dict) -> str:
    try:
      return os.path.join(self.replay_path, description['checkpoint'])
    except KeyError:
      raise errors.UserError(
          f'{self._json_path}: names no checkpoint; it was edited.'
      ) from None
