"""An experiment at a scale, written out as runs with directories and costs."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import os
import re

from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import results
from srdice_tf.experiments import chain
from srdice_tf.experiments import costs
from srdice_tf.experiments import designs
from srdice_tf.experiments import grids
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import runs
from srdice_tf.experiments import scales
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks
from srdice_tf.policies import settings
from srdice_tf.reports import origins

FILE_NAME = 'experiment.json'
_CHAIN_SECONDS = 200.0


@dataclasses.dataclass(frozen=True)
class Plan:
  """What is run for an experiment.

  Attributes:
    name: of the experiment.
    scale: its name.
    directory: of the experiment.
    entries: the runs, those that others need first.
    shown: where the experiment shows a run, by the run's directory; a run of
      another experiment is copied there.
  """

  name: str
  scale: str
  directory: str
  entries: tuple[sweep.Entry, ...]
  shown: Mapping[str, str]

  @property
  def experiment(self) -> designs.Experiment:
    return known_experiments.experiment(self.name)


@dataclasses.dataclass(frozen=True)
class _Spec:
  """A run before its policies are loaded, and the point that it belongs to."""

  point: designs.Point
  config: runs.RunConfig


def plan(name: str, scale: str, root: str, data_root: str = 'data') -> Plan:
  """Returns the runs of an experiment.

  Args:
    name: of the experiment.
    scale: name of the scale.
    root: directory of all experiments; runs that two of them have in common
      are kept in the directory of one.
    data_root: where data sets and true values are kept.

  Raises:
    UserError: if there is no such experiment or scale, or a directory cannot
      be made.
  """
  kind = known_experiments.experiment(name).kind
  scales.scale(scale)
  config_file.check_path(root, 'root')
  config_file.check_path(data_root, 'data_root')
  place = os.path.join(root, scale)
  directory = os.path.join(place, name)
  if kind == designs.CHAIN:
    entries = [_chain_entry(scale, os.path.join(directory, name))]
    shown = {entry.directory: entry.directory for entry in entries}
  else:
    entries, shown = _evaluations(name, scale, place, data_root)
    if kind == designs.RANDOM_REWARDS:
      rewards = [_rewards_entry(scale, each, shown) for each in entries]
      entries += rewards
      shown = {entry.directory: entry.directory for entry in rewards}
  return Plan(name, scale, directory, tuple(entries), shown)


def part(whole: Plan, match: str) -> Plan:
  """Returns some of the runs, and those that they need.

  Args:
    whole: the plan.
    match: regular expression that is in their directories, seen from the
      experiment's.

  Raises:
    UserError: if it is none, or in no run.
  """
  names = {
      entry.directory: os.path.relpath(
          whole.shown.get(entry.directory, entry.directory), whole.directory
      )
      for entry in whole.entries
  }
  try:
    found = [e for e in whole.entries if re.search(match, names[e.directory])]
  except re.error as error:
    expected = f'expected a regular expression: {error}'
    raise errors.UserError('match', match, expected) from error
  if not found:
    found = f'no run has that in its name; one is {next(iter(names.values()))}'
    raise errors.UserError('match', match, found)
  chosen = {e.directory for e in found}.union(*(e.after for e in found))
  return dataclasses.replace(
      whole, entries=tuple(e for e in whole.entries if e.directory in chosen)
  )


def _evaluations(name: str, scale: str, place: str, data_root: str):
  """Returns the entries of evaluations, and where each is shown."""
  make_task = functools.cache(runs.make_task)
  entries, shown = [], {}
  for spec in _specs(name, scale, data_root):
    _, config = runs.resolve(spec.config, make_task=make_task)
    run = os.path.join(spec.point.label, sweep.directory_name(config))
    path = os.path.join(place, spec.point.of or name, run)
    seconds = costs.seconds(config)
    label = spec.point.label
    entries.append(
        sweep.Entry(
            config,
            path,
            seconds=seconds,
            label=label,
            shares_features=not known_experiments.experiment(name).is_timed,
        )
    )
    shown[path] = os.path.join(place, name, run)
  return entries, shown


def _chain_entry(scale: str, directory: str) -> sweep.Entry:
  config = chain.ChainConfig(**scales.scale(scale).chain)
  whole = chain.ChainConfig()
  share = config.num_steps / whole.num_steps
  seconds = costs.START + _CHAIN_SECONDS * share
  return sweep.Entry(config, directory, seconds=seconds)


def _rewards_entry(scale: str, evaluated: sweep.Entry, shown) -> sweep.Entry:
  """Returns the entry that tries the ratios of an evaluation."""
  run = evaluated.directory
  fields = scales.scale(scale).rewards
  config = random_rewards.RandomRewardsConfig(**fields, run_dir=run)
  seconds = costs.START + costs.REWARD * config.num_rewards
  return sweep.Entry(
      config, shown[run], after=(run,), seconds=seconds, label=evaluated.label
  )


def _specs(name: str, scale: str, data_root: str) -> list[_Spec]:
  """Returns the evaluations of an experiment, seed by seed."""
  experiment, found = known_experiments.experiment(name), scales.scale(scale)
  points = [p for p in experiment.points if not p.at or scale in p.at]
  points = points[: found.max_points]
  max_seeds = found.more_seeds.get(name, found.max_seeds)
  num_seeds = min(experiment.num_seeds, max_seeds)
  # Runs beside each other have different tasks: they need not wait for the
  # data of one another.
  return [
      _Spec(point, config)
      for seed in range(num_seeds)
      for point in points
      for config in _configs(experiment, found, scale, point, seed, data_root)
  ]


def _configs(
    experiment: designs.Experiment,
    scale: scales.Scale,
    scale_name: str,
    point: designs.Point,
    seed: int,
    data_root: str,
) -> Iterator[runs.RunConfig]:
  """Yields the runs of a point, environment by environment."""
  env_ids = (point.env_ids or experiment.env_ids)[: scale.max_envs]
  if not env_ids:
    return
  algos = point.algos or experiment.algos
  is_frames = environments.has_frames(env_ids[0])
  budget = scale.frames if is_frames else scale.vectors
  num_parts = min(experiment.num_parts, scale.max_parts)
  for group in _groups(algos, budget):
    values = {
        **budget.values,
        **group.values,
        **point.values,
        **experiment.scaled.get(scale_name, {}),
    }
    for env_id in env_ids:
      fields = {**budget.task, **point.task}
      size = _size(fields, budget, scale)
      preset = tasks.preset(env_id, budget.preset)
      config = runs.RunConfig(
          tasks.TaskConfig(env_id, **{**fields, 'num_transitions': size}),
          group.algos,
          preset.replace(**budget.limited(values)),
          seed,
          data_root=data_root,
      )
      yield from grids.configs(config, grids.Grid(num_parts=num_parts))


def _groups(
    algos: Sequence[str], budget: scales.Budget
) -> list[scales.MethodGroup]:
  """Returns the methods that share runs; those of no group, too."""
  found = [
      dataclasses.replace(
          group, algos=tuple(a for a in algos if a in group.algos)
      )
      for group in budget.groups
  ]
  grouped = {name for group in found for name in group.algos}
  rest = tuple(name for name in algos if name not in grouped)
  return [g for g in [*found, scales.MethodGroup(rest)] if g.algos]


def _size(fields: dict, budget: scales.Budget, scale: scales.Scale) -> int:
  """Returns the transitions of a data set."""
  named = fields.get('num_transitions', 0) // scale.fewer_transitions
  size = named or settings.ALL[fields['setting']].num_transitions
  return min(size, budget.num_transitions or size)


def cost(
    name: str, scale: str, num_workers: int = 1, with_others: bool = True
) -> tuple[int, float]:
  """Returns how many runs an experiment has, and about their time.

  Args:
    name: of the experiment.
    scale: name of the scale.
    num_workers: runs at a time.
    with_others: whether runs that other experiments have, too, are counted.
  """
  experiment = known_experiments.experiment(name)
  if experiment.kind == designs.CHAIN:
    return 1, _chain_entry(scale, '').seconds
  shared, total = {}, 0.0
  specs = _specs(name, scale, '')
  for spec in specs:
    if with_others or not spec.point.of:
      seconds, once = costs.seconds(spec.config), {}
      if not experiment.is_timed:
        once = costs.feature_seconds(spec.config)
      total += seconds - sum(once.values())
      for key, value in (once | costs.data_seconds(spec.config)).items():
        shared[key] = max(value, shared.get(key, 0.0))
  if experiment.kind == designs.RANDOM_REWARDS:
    fields = scales.scale(scale).rewards
    num = random_rewards.RandomRewardsConfig(**fields).num_rewards
    total += len(specs) * (costs.START + costs.REWARD * num)
    total += len(experiment.env_ids) * costs.REWARD_TRUTH * num
  at_once = 1 if experiment.is_timed else min(num_workers, len(specs) or 1)
  return len(specs), (total + sum(shared.values())) / at_once


def costs_of_all(
    scale: str, num_workers: int
) -> list[tuple[str, int, float, str, float]]:
  """Returns name, runs, seconds, title and own seconds of each experiment.

  Its own are those that are left if the runs of other experiments are done.
  """
  return [
      (
          name,
          *cost(name, scale, num_workers),
          experiment.title,
          cost(name, scale, num_workers, with_others=False)[1],
      )
      for name, experiment in known_experiments.EXPERIMENTS.items()
  ]


def caption(plan: Plan) -> str:
  """Returns seeds, updates, batches and sizes, as a person reads them."""
  words = f'Scale {plan.scale}: {scales.scale(plan.scale).words}'
  if plan.experiment.kind == designs.CHAIN:
    (config,) = (entry.config for entry in plan.entries)
    return (
        f'{words}; {config.num_trials} trials, {config.num_steps:,} updates,'
        f' batch {config.batch_size}.'
    )
  groups, seeds = {}, set()
  for entry in plan.entries:
    if isinstance(entry.config, runs.RunConfig):
      key = entry.label, _schedule(entry.config)
      groups.setdefault(key, set()).update(entry.config.algos)
      seeds.add(entry.config.seed)
  schedules = [
      f'{label and f"{label}, "}{_names(plan, algos)}: {schedule}'
      for (label, schedule), algos in groups.items()
  ]
  num_seeds = f'{len(seeds)} seed{"s" if len(seeds) > 1 else ""}'
  return f'{"; ".join([words, num_seeds, *schedules])}.'


def _names(plan: Plan, algos: Collection[str]) -> str:
  return ', '.join(name for name in plan.experiment.algos if name in algos)


def _schedule(config: runs.RunConfig) -> str:
  values = config.hyperparameters
  if set(config.algos) == {'linear_srdice'}:
    return f'{config.task.num_transitions // config.num_parts:,} transitions'
  return (
      f'{values["updates"]:,} updates, batch {values["ratio_batch_size"]:,},'
      f' {config.task.num_transitions:,} transitions'
  )


def write(plan: Plan, command: str):
  """Writes experiment.json, before the first run.

  Raises:
    UserError: if the directory holds another experiment, scale or version.
  """
  path = os.path.join(plan.directory, FILE_NAME)
  content = {
      'version': results.VERSION,
      'name': plan.name,
      'scale': plan.scale,
      'title': plan.experiment.title,
      'caption': caption(plan),
      'runs': [
          os.path.relpath(run, plan.directory) for run in plan.shown.values()
      ],
      'command': command,
      'origin': origins.here(),
  }
  advice = 'choose another root, or remove the directory to start again'
  if os.path.exists(path):
    found = config_file.read_json(path, advice)
    # That of the runs that do not say it of themselves.
    content['origin'] = found.get('origin') or content['origin']
    for field in ('version', 'name', 'scale'):
      if found.get(field) != content[field]:
        raise errors.at(
            path,
            f'has the {field} {found.get(field)}, asked for is'
            f' {content[field]}',
            advice,
        )
  config_file.make_directory(plan.directory)
  config_file.write_json(path, content)
