"""The density ratios that a finished run left behind, with its data."""

from collections.abc import Iterator
import contextlib
import dataclasses
import os

import numpy as np

from srdice_tf import checksums
from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.data import opening
from srdice_tf.data import streamed
from srdice_tf.estimators import registry
from srdice_tf.experiments import episodes
from srdice_tf.experiments import result_file
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks


class FittedRatios:
  """The ratios of a run directory, with its task and its data.

  Attributes:
    evaluation: what it found.
    task: what was evaluated.
    identity: what its ratios are known by.
  """

  def __init__(self, run_dir: str):
    """Reads all but the large arrays.

    Raises:
      UserError: if the run is not finished, or its policy is another one now.
    """
    self._run_dir = run_dir
    if not result_file.exists(run_dir):
      raise errors.at(
          run_dir, f'holds no {result_file.FILE_NAME}', 'finish its run first'
      )
    self.evaluation = result_file.read(run_dir)
    path = os.path.join(run_dir, config_file.FILE_NAME)
    self._config = config_file.read_json(path, 'repeat the run elsewhere')
    try:
      stored = tasks.TaskConfig(**self._config['task'])
    except (KeyError, TypeError) as error:
      raise errors.at(
          path,
          f'is of another version ({error})',
          'repeat the run in another directory',
      ) from error
    if environments.has_frames(stored.env_id):
      raise errors.at(
          run_dir, 'its states are frames', 'random rewards are of vectors'
      )
    self.task = tasks.Task(stored)
    for name, value in dataclasses.asdict(self.task.config).items():
      if value != getattr(stored, name):
        raise errors.at(
            run_dir,
            f'is a run with {name}={getattr(stored, name)}, which is now'
            f' {value}',
        )
    self._ratios = os.path.join(run_dir, runs.RATIOS)
    if not os.path.exists(self._ratios):
      raise errors.at(
          self._ratios,
          'missing, as if only the results of the run were kept',
          f'remove {run_dir} to run it again',
      )
    self.identity = identity(run_dir)

  @property
  def truth_dir(self) -> str:
    name = self.task.config.env_id.replace('/', '_')
    return os.path.join(self._config.get('data_root', 'data'), 'truth', name)

  def ratios(self) -> dict[str, np.ndarray]:
    """Returns the ratios [n] of each method that has its own, in float64.

    Raises:
      UserError: if no method has ratios, or the file cannot be read.
    """
    found = read_arrays(self._ratios, 'repeat the run elsewhere')
    for name in [n for n in found if not _has_own(n)]:
      del found[name]
    sizes = {len(ratios) for ratios in found.values()}
    if sizes != {self.evaluation.num_transitions}:
      raise errors.at(
          self._ratios,
          f'has ratios of {", ".join(map(str, sizes)) or "no"} transitions,'
          f' expected {self.evaluation.num_transitions}',
      )
    return {name: each.astype(np.float64) for name, each in found.items()}

  @contextlib.contextmanager
  def dataset(
      self, path: str
  ) -> Iterator[datasets.Dataset | streamed.StreamedDataset]:
    """Yields the data that the run was fitted to, streamed if they were so.

    Args:
      path: of the data set; '' for where it was.

    Raises:
      UserError: if it is not there, or another one is.
    """
    config, name = self._config, 'dataset_dir'
    path = path or config[name]
    if not path or not os.path.isdir(path):
      raise errors.UserError(
          name, path, f'not there; expected the data set of {self._run_dir}'
      )
    with self._whole(path) as whole:
      num_parts = config.get('num_parts', 1)
      data = whole
      if num_parts > 1:
        data = episodes.part(whole, config['part'], num_parts)
      if data.checksum() != config['dataset_checksum']:
        raise errors.UserError(
            name, path, f'expected the data set of {self._run_dir}, not others'
        )
      yield data

  def _whole(self, path: str):
    seed = self._config['seed']
    if not self._config.get('stream'):
      return contextlib.nullcontext(self.task.dataset(path, seed))
    timeout = opening.TIMEOUT_SECONDS
    return self.task.streamed(path, '', seed, timeout, self._run_dir)


def _has_own(name: str) -> bool:
  """Returns whether a method is its ratios: dr needs a Q of each reward."""
  method = registry.ESTIMATORS.get(name)
  return method is None or method.HAS_RATIOS


def identity(run_dir: str) -> dict[str, str]:
  """Returns what the ratios of a run are known by, as far as it is there.

  Raises:
    UserError: if its config.json is damaged.
  """
  path = os.path.join(run_dir, config_file.FILE_NAME)
  config = config_file.read_json(path, 'repeat the run elsewhere')
  found = {'dataset_checksum': config.get('dataset_checksum', '')}
  ratios = os.path.join(run_dir, runs.RATIOS)
  if os.path.exists(ratios):
    found['ratios_checksum'] = checksums.of_file(ratios)
  return found


def read_arrays(path: str, advice: str) -> dict[str, np.ndarray]:
  """Returns the arrays of an .npz file by name.

  Raises:
    UserError: if the file is damaged; it ends with the advice.
  """
  try:
    with np.load(path, allow_pickle=False) as file:
      return {name: file[name] for name in file.files}
  except Exception as error:  # What damage raises depends on where it is.
    reason = ' '.join(str(error).split())
    raise errors.at(path, f'cannot be read ({reason})', advice) from error
