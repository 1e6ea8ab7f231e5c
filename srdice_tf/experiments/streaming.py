"""Whether the data of a run are streamed, and from where."""

import contextlib
import dataclasses
import os

from srdice_tf import config_file
from srdice_tf import limits
from srdice_tf.experiments import episodes
from srdice_tf.logging import progress


def decided(config, task, run_dir: str):
  """Returns a RunConfig with data that are streamed, where they must be.

  They are so if the run has begun so, or if they would take more than half of
  the free memory: then a line says it.

  Args:
    config: the RunConfig.
    task: of the config.
    run_dir: directory of the run.
  """
  if config.stream or _was_streamed(run_dir):
    return dataclasses.replace(config, stream=True)
  return dataclasses.replace(config, stream=is_needed(task.data_bytes))


def is_needed(data_bytes: int) -> bool:
  """Returns whether data take more than half of the free memory; says so."""
  available = limits.available_bytes()
  if 2 * data_bytes <= available:
    return False
  progress.say(
      f'streaming     the data take {data_bytes / 2**30:,.1f} GiB, of'
      f' {available / 2**30:,.1f} that are free'
  )
  return True


def _was_streamed(run_dir: str) -> bool:
  """Returns whether a directory holds a run on streamed data."""
  path = os.path.join(run_dir, config_file.FILE_NAME)
  if not os.path.exists(path):
    return False
  advice = 'remove the run to evaluate again'
  return bool(config_file.read_json(path, advice).get('stream'))


@contextlib.contextmanager
def dataset(task, config, server_timeout: float, run_dir: str):
  """Yields the streamed data of a run, or the part of them that it is of."""
  with task.streamed(
      config.dataset_dir,
      config.reverb_address,
      config.seed,
      server_timeout,
      run_dir,
  ) as whole:
    if config.num_parts == 1:
      yield whole
    else:
      yield episodes.part(whole, config.part, config.num_parts)
