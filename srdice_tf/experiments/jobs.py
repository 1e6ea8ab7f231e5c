"""What an entry of a plan does, whoever runs it."""

from collections.abc import Iterator
import contextlib
import fcntl
import os
import traceback

import tensorflow as tf

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import locks
from srdice_tf import results
from srdice_tf.experiments import chain
from srdice_tf.experiments import finished_runs
from srdice_tf.experiments import provenance
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import result_file
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import truths
from srdice_tf.reports import origins

# What became of an entry; one that is busy is run by another process.
DONE, FAILED, BUSY = 'done', 'failed', 'busy'
_FEATURES = 'representations'  # Beside the data.


# Runs that are no evaluations, by their configs: modules with `run` and `find`.
_STUDIES = {
    chain.ChainConfig: chain,
    random_rewards.RandomRewardsConfig: random_rewards,
}


def attempt(entry: sweep.Entry, cache: dict) -> tuple[str, str]:
  """Runs an entry; returns what became of it, and one line if it failed.

  Args:
    entry: of a plan.
    cache: keeps the last data set, for runs on parts of it.
  """
  try:
    run(entry, cache)
  except locks.InUseError:
    return BUSY, ''
  except errors.UserError as error:
    return FAILED, str(error)
  except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    return FAILED, f'out of memory; try fewer workers ({_line(error)})'
  except Exception as error:
    traceback.print_exc()
    return FAILED, f'{type(error).__name__}: {_line(error)}'
  return DONE, ''


def run(entry: sweep.Entry, cache: dict):
  """Runs an entry to its end.

  Raises:
    UserError: if it cannot be run, or another process runs it.
  """
  if found(entry) is not None:
    return
  if type(entry.config) in _STUDIES:
    _STUDIES[type(entry.config)].run(entry.config, entry.directory)
  else:
    if not cache:
      _make_shared(entry.config)
    config = entry.config
    root = os.path.join(config.data_root, _FEATURES) * entry.shares_features
    runs.run(config, entry.directory, cache=cache, features_root=root)
  path = os.path.join(entry.directory, finished_runs.ORIGIN)
  if not os.path.exists(path):
    config_file.write_json(path, origins.here())


Finding = results.Evaluation | results.RandomRewards | list[chain.ChainCurve]


def found(entry: sweep.Entry) -> Finding | None:
  """Returns what a run found, if it is done.

  Raises:
    UserError: if the directory holds another run, or a damaged result.
  """
  config = entry.config
  if type(config) in _STUDIES:
    return _STUDIES[type(config)].find(config, entry.directory)
  if entry.names_data or not runs.is_done(config, entry.directory):
    return None
  return result_file.read(entry.directory)


def _make_shared(config: runs.RunConfig):
  """Makes data set and true values; if another process does, it waits."""
  task, config = runs.resolve(config)
  with _alone(config.dataset_dir):
    there = provenance.of_directory(config.dataset_dir)
    if there is None or not there.is_complete:
      task.dataset(config.dataset_dir, config.seed)
  with _alone(config.truth_dir):
    truths.of_task(task, config.truth_dir)


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
  """Waits until no other process is in the context for the same path."""
  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
  with open(f'{path}.wait', 'w') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    yield


def _line(error: Exception) -> str:
  return ' '.join(str(error).split())[:200]
