"""What finished runs found, kept with the package: other machines go on.

There is a file for each experiment of a scale, with a line of JSON for each
run: its settings without the places of this machine, what it found, and where
it was made. Checkpoints and ratios are not kept. A run that is kept is written
out as one that is done, and from there on is read like any other.
"""

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import glob
import json
import os

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import locks
from srdice_tf import results
from srdice_tf.experiments import chain
from srdice_tf.experiments import finished_runs
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import result_file
from srdice_tf.experiments import reward_tables
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep

DIRECTORY = os.path.join(os.path.dirname(__file__), 'results', 'runs')
_ADVICE = 'restore it from the repository, or remove it to run all again'
# Where a run and its data were kept.
_PLACES = 'data_root', 'dataset_dir', 'run_dir'


class KeptRuns:
  """The runs of one scale that are kept."""

  def __init__(self, place: str, scale: str, directory: str = DIRECTORY):
    """Reads nothing yet.

    Args:
      place: directory of the experiments of the scale on this machine.
      scale: its name.
      directory: of what is kept, of all scales.
    """
    self._place = place
    self._directory = os.path.join(directory, scale)
    self._lines = functools.cache(self._read)

  def restore(self, entry: sweep.Entry) -> str:
    """Writes out a run as it is kept, if it is.

    Args:
      entry: of a plan, not done yet.

    Returns:
      In which field the kept run differs; it is then left alone. '' if it does
      not, or there is none.

    Raises:
      UserError: if what is kept is damaged.
    """
    experiment, name = self._name(entry)
    line = self._lines(experiment).get(name)
    if line is None:
      return ''
    path = self._path(experiment)
    try:
      wanted, defaults = _description(entry.config, line['config'])
      for field, old, new in config_file.differences(
          line['config'], wanted, defaults
      ):
        if field not in _PLACES:
          return f'{field}={old}, asked for is {new}'
      write = _written(line, entry.config, path)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
      reason = ' '.join(str(error).split())
      raise errors.at(path, f'{name} is damaged ({reason})', _ADVICE) from error
    # If another process runs it, its own result will do.
    with contextlib.suppress(locks.InUseError):
      with config_file.hold(entry.directory):
        path = os.path.join(entry.directory, config_file.FILE_NAME)
        config_file.write_json(path, wanted)
        path = os.path.join(entry.directory, finished_runs.ORIGIN)
        config_file.write_json(path, line['origin'])
        # The result comes last: with it the run is done.
        write(entry.directory)
    return ''

  def keep(self, entries: list[sweep.Entry], experiment: str) -> int:
    """Adds the finished ones of an experiment's runs; returns their number.

    Args:
      entries: the runs that are done.
      experiment: whose own runs are kept; others are kept with theirs.

    Raises:
      UserError: if a file of a run is damaged.
    """
    lines = dict(self._lines(experiment))
    names = {self._name(entry): entry for entry in entries}
    found = {
        name: _line(entry)
        for (owner, name), entry in names.items()
        if owner == experiment
    }
    lines |= found
    if found:
      os.makedirs(self._directory, exist_ok=True)
      path = self._path(experiment)
      with open(f'{path}.tmp', 'w', encoding='utf-8') as file:
        for name, line in sorted(lines.items()):
          line = {'run': name, **line}
          file.write(json.dumps(line, separators=(',', ':')) + '\n')
      os.replace(f'{path}.tmp', path)
    return len(found)

  def _name(self, entry: sweep.Entry) -> tuple[str, str]:
    """Returns the experiment that keeps a run, and the run's name in it."""
    path = os.path.relpath(entry.directory, self._place)
    experiment, _, name = path.partition(os.sep)
    return experiment, name

  def _path(self, experiment: str) -> str:
    return os.path.join(self._directory, f'{experiment}.jsonl')

  def _read(self, experiment: str) -> dict[str, dict]:
    path = self._path(experiment)
    if not os.path.exists(path):
      return {}
    lines = {}
    with open(path, encoding='utf-8') as file:
      for number, text in enumerate(file, 1):
        try:
          line = json.loads(text)
          lines[line.pop('run')] = {
              key: line[key] for key in ('config', 'result', 'origin')
          }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
          where = f'{path}:{number}'
          found = f'is not a kept run ({" ".join(str(error).split())})'
          raise errors.at(where, found, _ADVICE) from error
    return lines


def experiments(directory: str = DIRECTORY) -> list[tuple[str, str]]:
  """Returns scale and name of each experiment of which runs are kept."""
  paths = sorted(glob.glob(os.path.join(directory, '*', '*.jsonl')))
  return [
      (os.path.basename(os.path.dirname(path)), name)
      for path in paths
      for name, _ in [os.path.splitext(os.path.basename(path))]
  ]


def is_there(directory: str) -> bool:
  """Returns whether a run directory has a result, whole or damaged."""
  names = result_file.FILE_NAME, random_rewards.TABLE, chain.CSV
  return any(os.path.exists(os.path.join(directory, name)) for name in names)


def _description(config, kept: Mapping) -> tuple[dict, dict]:
  """Returns the settings of a run on the data of the kept one; defaults."""
  if isinstance(config, runs.RunConfig):
    wanted = config.describe(kept.get('dataset_checksum', ''))
    return wanted, runs.defaults(config)
  wanted = dataclasses.asdict(config)
  known = {name: kept[name] for name in random_rewards.IDENTITY if name in kept}
  return {**wanted, **known}, config_file.defaults(config)


def _line(entry: sweep.Entry) -> dict:
  """Returns what is kept of a finished run."""
  path = os.path.join(entry.directory, config_file.FILE_NAME)
  config = config_file.read_json(path, 'run it again')
  path = os.path.join(entry.directory, finished_runs.ORIGIN)
  origin = {}
  if os.path.exists(path):
    origin = config_file.read_json(path, 'remove it')
  return {
      'config': {k: v for k, v in config.items() if k not in _PLACES},
      'result': _result(entry),
      'origin': origin,
  }


def _result(entry: sweep.Entry) -> dict:
  """Returns what a finished run found, as JSON."""
  config, directory = entry.config, entry.directory
  if isinstance(config, runs.RunConfig):
    return results.to_json(result_file.read(directory), with_advice=False)
  if isinstance(config, chain.ChainConfig):
    return chain.to_json(chain.find(config, directory))
  path = os.path.join(directory, random_rewards.TABLE)
  return reward_tables.to_json(reward_tables.read(path))


def _written(line: Mapping, config, where: str) -> Callable[[str], None]:
  """Returns what writes a kept result into a directory."""
  result = line['result']
  if isinstance(config, runs.RunConfig):
    found = results.from_json(result, where, _ADVICE)
    return lambda directory: result_file.write(directory, found)
  if isinstance(config, chain.ChainConfig):
    found = chain.from_json(result)
    name, write = chain.CSV, chain.write_csv
  else:
    found = reward_tables.from_json(result)
    name, write = random_rewards.TABLE, reward_tables.write
  return lambda directory: write(os.path.join(directory, name), found)
