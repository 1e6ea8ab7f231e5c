"""Finished runs with their settings, and one table of them all."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import signal

from srdice_tf import results
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import tidy
from srdice_tf.reports import figures

# What says where a run is kept, or follows from the rest of its settings.
_NOT_TOLD = frozenset((
    'env_id', 'setting', 'num_envs', 'policy_checksum', 'behaviour_checksum',
    'truth', 'truth_episodes', 'truth_max_episodes',
))
_LEAST_ESTIMATES = 5  # Fewer say nothing of how much they swing.
_TINY = 1e-12
_NEAR = 0.1  # Of the truth.


@dataclasses.dataclass(frozen=True)
class RunRecord:
  """One finished run.

  Attributes:
    directory: of the run, relative to that of the report.
    evaluation: what it found.
    config: the content of its config.json; {} if there is none.
  """

  directory: str
  evaluation: results.Evaluation
  config: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  @property
  def place(self) -> tuple[str, str]:
    """Environment and setting."""
    return self.evaluation.env_id or 'logged data', self.evaluation.setting

  def task_fields(self) -> dict[str, Any]:
    """Returns the settings of the task that runs are told apart by."""
    task = self.config.get('task') or {
        'gamma': self.evaluation.gamma,
        'num_transitions': self.evaluation.num_transitions,
    }
    return {k: v for k, v in task.items() if k not in _NOT_TOLD}

  def method_fields(self, method: str) -> dict[str, Any]:
    """Returns the hyper-parameters of a method and of what it may share."""
    algos, found = self.config.get('algos', ()), {}
    for name, fields in self.config.get('hyperparameters', {}).items():
      if name == method or name not in algos:
        found |= fields
    return found


@dataclasses.dataclass(frozen=True)
class Group:
  """The runs of one experiment.

  Attributes:
    name: of the experiment; '' for runs that belong to none.
    title: in words.
    caption: what it shows.
    scale: 'paper', 'desk', ...; '' if nobody knows.
    command: that made it.
    origins: versions and machine, by name, of each run that noted them, by its
      directory.
    records: the runs that are done.
    missing: directories of runs that were planned and are not done.
    damaged: what is wrong with those that cannot be read, by directory.
    tables: further tables by kind ('chain', 'random_rewards').
  """

  name: str = ''
  title: str = 'Runs'
  caption: str = ''
  scale: str = ''
  command: str = ''
  origins: Mapping[str, Mapping] = dataclasses.field(default_factory=dict)
  records: Sequence[RunRecord] = ()
  missing: Sequence[str] = ()
  damaged: Mapping[str, Exception] = dataclasses.field(default_factory=dict)
  tables: Mapping[str, pd.DataFrame] = dataclasses.field(default_factory=dict)


def frame(group: Group) -> pd.DataFrame:
  """Returns the tidy table of a group's runs: a row for each run and method.

  Beside what `tidy.frame` has: 'experiment', 'directory', 'task' (the
  environment and what differs between its tasks), 'variant' (in which
  hyper-parameters a method differs from most of its runs), 'label' (both),
  'run' (seed and part of the data), 'behaviour_log_error', 'log_swing' (how
  much the estimate swings on the way), 'log_settled' (after how many updates it
  stays where it ends), 'worst_error' (the largest on the way, relative to the
  truth), 'phase_seconds', 'updates', and each setting in which runs of an
  environment differ, as 'task.<field>' and 'method.<field>'.
  """
  if not group.records:
    return pd.DataFrame()
  tasks = _told(
      {r.directory: (r.place, r.task_fields()) for r in group.records}
  )
  methods = _told({
      (r.directory, m): ((*r.place, m), r.method_fields(m))
      for r in group.records
      for m in r.evaluation.methods
  })
  settings = len({record.place[1] for record in group.records}) > 1
  rows = [
      _row(group, record, name, tasks, methods, settings)
      for record in group.records
      for name in record.evaluation.methods
  ]
  found = pd.concat(
      [tidy.frame(r.evaluation for r in group.records), pd.DataFrame(rows)],
      axis='columns',
  )
  found['rank'] = found['method'].map(figures.rank)
  of = lambda part: [name for name in found if name.startswith(f'{part}.')]
  order = ['env', 'setting', *of('task'), 'rank', 'method', *of('method')]
  found = found.sort_values(order, kind='stable', key=_sortable)
  return found.drop(columns='rank').reset_index(drop=True)


def _sortable(column: pd.Series) -> pd.Series:
  return column if pd.api.types.is_numeric_dtype(column) else column.map(str)


def _row(group, record, method, tasks, methods, with_setting) -> dict:
  evaluation = record.evaluation
  task_fields, differs = tasks[record.directory]
  fields, variant = methods[record.directory, method]
  env_id, setting = record.place
  place = f'{env_id} ({setting})' if with_setting and setting else env_id
  phases = evaluation[method].phase_seconds
  return {
      'experiment': group.name,
      'directory': record.directory,
      'run': f'{evaluation.seed}.{record.config.get("part", 0)}',
      'task': ', '.join([place, *_texts(differs)]),
      'task_variant': ', '.join(_texts(differs)),
      'variant': ', '.join(_texts(variant)),
      'label': ', '.join([method, *_texts(variant)]),
      'behaviour_log_error': behaviour_log_error(evaluation),
      'log_swing': log_swing(evaluation, method),
      'log_settled': log_settled(evaluation, method),
      'worst_error': worst_error(evaluation, method),
      'phase_seconds': dict(phases),
      'updates': num_updates(evaluation[method]) or 0,
      **{f'task.{key}': value for key, value in task_fields.items()},
      **{f'method.{key}': value for key, value in fields.items()},
  }


def num_updates(result: results.MethodResult) -> int | None:
  """Returns the updates of a method's last phase; None for a closed form."""
  steps = result.curve.steps
  return steps[-1] if steps and steps[-1] > 1 else None


def log_swing(evaluation: results.Evaluation, method: str) -> float | None:
  """Returns by how much an estimate swings on the way, relative to the truth.

  It is the natural log of the standard deviation of the estimates in the second
  half of the updates from a straight line: to drift is not to swing. None for a
  closed form, or without a truth.
  """
  estimates = np.array(evaluation[method].curve.estimates, float)
  last = estimates[len(estimates) // 2 :]
  if evaluation.truth is None or len(last) < _LEAST_ESTIMATES:
    return None
  scale = max(abs(evaluation.truth.value), _TINY)
  line = signal.detrend(last) if np.isfinite(last).all() else last
  return float(np.log(max(line.std() / scale, _TINY)))


def log_settled(evaluation: results.Evaluation, method: str) -> float | None:
  """Returns after how many updates an estimate stays near where it ends.

  It is the natural log of the updates from which on the estimate differs from
  the last one by at most 10% of the truth; NaN if it diverged, None for a
  closed form, or without a truth.
  """
  curve, truth = evaluation[method].curve, evaluation.truth
  if truth is None or len(curve.steps) < 2 * _LEAST_ESTIMATES:
    return None
  if not math.isfinite(curve.estimates[-1]) or evaluation[method].diverged:
    return math.nan
  away = np.abs(np.array(curve.estimates, float) - curve.estimates[-1])
  is_there = away <= _NEAR * abs(truth.value)
  late = np.flatnonzero(~is_there)
  return float(np.log(curve.steps[late[-1] + 1 if len(late) else 0]))


def worst_error(evaluation: results.Evaluation, method: str) -> float | None:
  """Returns the largest error of an estimate on the way or at the end.

  It is relative to the truth; None without one.
  """
  if evaluation.truth is None:
    return None
  result, truth = evaluation[method], evaluation.truth.value
  estimates = np.array([*result.curve.estimates, result.value], float)
  return float(np.max(np.abs(estimates - truth)) / max(abs(truth), _TINY))


def behaviour_log_error(evaluation: results.Evaluation) -> float | None:
  """Returns the log error of taking the behaviour policy's value."""
  if evaluation.truth is None or evaluation.behaviour is None:
    return None
  truth = evaluation.truth.value
  return float(log_error.log_error(evaluation.behaviour.value, truth))


def _told(items: Mapping[Any, tuple[Any, dict]]) -> dict[Any, tuple]:
  """Returns the fields in which each item's fellows differ, and those to tell.

  A value that more than half have, over all environments, is not told: a method
  has the same name in each, though not all were run in all.

  Args:
    items: by key, what the fellows have in common, environment and setting
      first, and the fields.
  """
  fellows, everywhere = {}, {}
  for place, fields in items.values():
    fellows.setdefault(place, []).append(fields)
    everywhere.setdefault(place[2:], []).append(fields)
  usual = {
      place: dict(_usual(found, everywhere[place[2:]]))
      for place, found in fellows.items()
  }
  found = {}
  for key, (place, fields) in items.items():
    most = usual[place]
    differing = {k: v for k, v in fields.items() if k in most}
    told = {k: v for k, v in differing.items() if most[k] != (v,)}
    found[key] = differing, told
  return found


def _usual(found: list[dict], everywhere: list[dict]):
  """Yields the fields that differ, with the value of most, or ()."""
  for name in dict.fromkeys(name for fields in found for name in fields):
    values = _values(found, name)
    if any(value != values[0] for value in values):
      yield name, _of_most(_values(everywhere, name))


def _values(found: list[dict], name: str) -> list:
  return [fields[name] for fields in found if name in fields]


def _of_most(values: list) -> tuple:
  """Returns the value that more than half of them are, or ()."""
  most = max(values, key=values.count)
  return (most,) if 2 * values.count(most) > len(values) else ()


def _texts(fields: Mapping[str, Any]) -> list[str]:
  return [f'{name}={_short(value)}' for name, value in fields.items()]


def _short(value) -> str:
  if isinstance(value, bool) or not isinstance(value, int | float):
    return str(value)
  return f'{value:,}' if isinstance(value, int) else f'{value:g}'
