"""Where results come from: commands, versions, machine, seeds and steps."""

from collections.abc import Iterable
from importlib import metadata
import os
import platform
import shlex

from srdice_tf import commands
from srdice_tf.reports import report_parts
from srdice_tf.reports import run_records

_PACKAGES = (
    'srdice_tf', 'tensorflow', 'tf-agents', 'dm-reverb',
    'tensorflow-probability', 'keras', 'numpy', 'gymnasium', 'mujoco',
    'ale-py', 'rliable', 'matplotlib',
)
# Of a task: the name of its flag, if it is another.
_FLAGS = {'env_id': 'env'}
_NO_FLAGS = ('num_envs', 'policy_checksum', 'behaviour_checksum')


def here() -> dict[str, str]:
  """Returns the versions and the machine that this process runs with."""
  versions = {}
  for name in _PACKAGES:
    try:
      versions[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
      versions[name] = 'not installed'
  return {
      'machine': f'{platform.machine()}, {os.cpu_count()} cores, {_cpu()}',
      'system': platform.platform(),
      'Python': platform.python_version(),
      **versions,
  }


def _cpu() -> str:
  try:
    with open('/proc/cpuinfo', encoding='utf-8') as file:
      lines = [line for line in file if line.startswith('model name')]
  except OSError:
    lines = []
  return lines[0].partition(':')[2].strip() if lines else 'unknown processor'


def of_runs(group: run_records.Group) -> list[dict]:
  """Returns the origins of a group's runs, those of most runs first."""
  found = {}
  for directory, origin in group.origins.items():
    key = tuple(sorted(origin.items()))
    found.setdefault(key, {'origin': origin, 'directories': []})
    found[key]['directories'].append(directory)
  return sorted(found.values(), key=lambda each: -len(each['directories']))


def run_commands(records: Iterable[run_records.RunRecord]) -> list[dict]:
  """Returns the command of each setting, with its seeds and directories.

  Every setting is written out, so that no preset or default matters.
  """
  found = {}
  for record in records:
    if record.config:
      command = _command(record.config)
      entry = found.setdefault(command, {'seeds': [], 'directories': []})
      entry['seeds'].append(record.config.get('seed', record.evaluation.seed))
      entry['directories'].append(record.directory)
  return [
      {
          'command': f'{command} --seed={min(entry["seeds"])}',
          'seeds': sorted(set(entry['seeds'])),
          'directories': entry['directories'],
      }
      for command, entry in found.items()
  ]


def _command(config) -> str:
  task = {
      _FLAGS.get(name, name): value
      for name, value in config.get('task', {}).items()
      if name not in _NO_FLAGS
  }
  given = {'env': task.pop('env', None), 'setting': task.pop('setting', None)}
  given |= {'algo': ','.join(config.get('algos', ())), **task}
  if config.get('holdout_fraction'):
    given['holdout_fraction'] = config['holdout_fraction']
  for fields in config.get('hyperparameters', {}).values():
    given |= fields
  words = commands.name('run_ope').split()
  for name, value in given.items():
    if value is None or value == '':
      continue
    if isinstance(value, bool):
      words.append(f'--{"" if value else "no"}{name}')
    else:
      words.append(f'--{name}={_text(value)}')
  return shlex.join(words)


def _text(value) -> str:
  return ','.join(map(str, value)) if isinstance(value, list) else str(value)


def steps_table(
    group: run_records.Group, name: str
) -> report_parts.ReportTable | None:
  """Returns data, seeds and step counts of all runs."""
  rows = {}
  for record in group.records:
    found = record.evaluation
    for method, result in found.methods.items():
      data = found.num_transitions, found.gamma
      steps = run_records.num_updates(result)
      key = *record.place, method, *data, steps
      rows.setdefault(key, []).append(found.seed)
  # Methods that have all of this in common share a line.
  methods = {}
  for (env_id, setting, method, *numbers), seeds in rows.items():
    key = env_id, setting, *numbers, _ranges(seeds)
    methods.setdefault(key, []).append(method)
  columns = (
      'environment', 'setting', 'transitions', 'gamma', 'updates', 'seeds',
      'methods',
  )
  cells = [[*key, ', '.join(names)] for key, names in methods.items()]
  if not cells:
    return None
  return report_parts.ReportTable(
      name, columns, cells, 'Data, updates and seeds.'
  )


def _ranges(seeds: list[int]) -> str:
  """Returns whole numbers as '0-4, 7'."""
  parts = []
  for seed in sorted(set(seeds)):
    if parts and parts[-1][1] == seed - 1:
      parts[-1][1] = seed
    else:
      parts.append([seed, seed])
  return ', '.join(f'{a}' if a == b else f'{a}–{b}' for a, b in parts)
