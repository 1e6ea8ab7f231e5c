"""Many evaluations: a list of run configs, resumable run by run."""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
import os
from typing import Any

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.evaluation import tidy
from srdice_tf.experiments import result_file
from srdice_tf.experiments import runs

TABLE = 'results.csv'
_TIMEOUT = 30.0  # Seconds.


@dataclasses.dataclass(frozen=True)
class Entry:
  """A run of a sweep, and the directory where it is kept.

  Attributes:
    config: a RunConfig; experiments have entries of other kinds, too.
    directory: of the run.
    names_data: whether the user said where the data are; if not, they are
      named by their whole description.
    after: directories of runs that must be done before.
    seconds: about how long it takes on one core.
    label: of the setting that it belongs to, among those of an experiment.
    notes: what is odd about the data, as lines.
    shares_features: whether phi and psi may be those of another run, with the
      seconds that it took there.
  """

  config: Any
  directory: str
  names_data: bool = False
  after: tuple[str, ...] = ()
  seconds: float = 0.0
  label: str = ''
  notes: tuple[str, ...] = ()
  shares_features: bool = True


def plan(
    configs: Sequence[runs.RunConfig],
    root: str,
    server_timeout: float = _TIMEOUT,
) -> list[Entry]:
  """Returns the runs, each with a directory of its own below `root`.

  Raises:
    UserError: if a config does not fit the data it names, two would be kept
      in one directory, or one true value is given for several environments.
  """
  _check_truth(configs)
  # Seeds, parts and methods have the same policies.
  make_task = functools.cache(runs.make_task)
  entries = []
  for given in configs:
    task, config = runs.resolve(given, server_timeout, make_task)
    directory = os.path.join(root, directory_name(config))
    names_data = bool(
        given.task.names_data or given.dataset_dir or given.reverb_address
    )
    entries.append(Entry(config, directory, names_data, notes=task.notes))
  counts = collections.Counter(entry.directory for entry in entries)
  for directory, count in counts.items():
    if count > 1:
      raise errors.at(
          directory,
          f'{count} runs of the sweep would be kept there',
          'expected runs that differ in environment, setting, methods, seed or'
          ' part; give others a root of their own',
      )
  return entries


def _check_truth(configs: Sequence[runs.RunConfig]):
  env_ids = {config.task.env_id for config in configs}
  for task in (config.task for config in configs):
    if len(env_ids) > 1 and task.known_truth(task.gamma) is not None:
      raise errors.UserError(
          'truth', task.truth, 'expected one environment, whose value it is'
      )


def directory_name(config: runs.RunConfig) -> str:
  """Returns the path of a run within its sweep, the same in all of them."""
  parts = config.task.name, *config.algos
  seed = f'seed{config.seed}'
  if config.num_parts > 1:
    seed += f'_part{config.part}'
  return os.path.join('_'.join(parts), seed)


def run(
    entries: Sequence[Entry],
    table: str,
    server_timeout: float = _TIMEOUT,
    on_done: Callable[[results.Evaluation], None] = lambda evaluation: None,
) -> list[results.Evaluation]:
  """Runs what is not done yet; finished runs are read, not repeated.

  Args:
    entries: of `plan`.
    table: a CSV file with one row for each run and method, written after
      each run.
    server_timeout: seconds to wait for a replay server.
    on_done: called after each run.

  Raises:
    UserError: if a directory holds another run.
  """
  evaluations, cache = [], {}
  for entry in entries:
    evaluations.append(_run(entry, server_timeout, cache))
    tidy.write(table, tidy.frame(evaluations))
    on_done(evaluations[-1])
  return evaluations


def _run(entry: Entry, server_timeout, cache) -> results.Evaluation:
  if not entry.names_data and runs.is_done(entry.config, entry.directory):
    return result_file.read(entry.directory)
  return runs.run(entry.config, entry.directory, server_timeout, cache)
