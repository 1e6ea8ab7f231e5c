"""One off-policy evaluation, from a config to a run directory."""

from collections.abc import Callable
import contextlib
import dataclasses
import os
from typing import TypeAlias

import numpy as np

from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import results
from srdice_tf.data import streamed
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from srdice_tf.evaluation import returns
from srdice_tf.evaluation import support
from srdice_tf.evaluation import tidy
from srdice_tf.experiments import episodes
from srdice_tf.experiments import feature_store
from srdice_tf.experiments import fitting
from srdice_tf.experiments import logged_tasks
from srdice_tf.experiments import provenance
from srdice_tf.experiments import result_file
from srdice_tf.experiments import streaming
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truths
from srdice_tf.logging import metrics
from srdice_tf.logging import progress
from srdice_tf.replay import clients

_TIMEOUT = 30.0  # Seconds.
_CHECKPOINT, RATIOS = 'checkpoint', 'ratios.npz'
# What a run goes on from.
_TRACES = (_CHECKPOINT, metrics.FILE_NAME, result_file.FILE_NAME)
# A run is the same wherever its data are kept.
_CHANGEABLE = ('data_root', 'dataset_dir')


@dataclasses.dataclass(frozen=True)
class RunConfig:
  """One run: a task, estimators, a seed, and where the data are.

  Attributes:
    task: what is evaluated.
    algos: names of the estimators.
    hyperparameters: of the estimators.
    seed: of data and estimators; None for that of the data, or 0.
    dataset_dir: the data set, collected if it is not there; '' for a directory
      below `data_root` that no other request shares.
    reverb_address: of a server that has the data instead.
    holdout_fraction: share of the episodes that is not fitted: flow residuals
      are measured on it.
    part: which part of the data set is used, counted from 0.
    num_parts: into how many parts, of whole episodes, the data set is cut.
    data_root: where data sets without a directory of their own and true values
      are kept.
    stream: whether the data are streamed from a server, little of them in
      memory. They are so, too, where they would take half of the free memory.
  """

  task: tasks.TaskConfig | logged_tasks.LoggedTaskConfig
  algos: tuple[str, ...]
  hyperparameters: hyperparameters.Hyperparameters
  seed: int | None = ranges.seed(None)
  dataset_dir: str = ''
  reverb_address: str = ''
  holdout_fraction: float = ranges.between(0, 0.9, 0.0)
  part: int = ranges.at_least(0, 0)
  num_parts: int = ranges.at_least(1, 1)
  data_root: str = 'data'
  stream: bool = False

  def __post_init__(self):
    ranges.check(self)
    registry.check_names(self.algos)
    if self.part >= self.num_parts:
      raise errors.UserError(
          'part', self.part, f'expected less than num_parts={self.num_parts}'
      )
    if len(self.places) > 1:
      (first, data), (field, place), *_ = self.places.items()
      raise errors.UserError(
          field, place, f'not beside {first}={data}, whose data are used'
      )

  @property
  def places(self) -> dict[str, str]:
    """Where the user says that the data are, by field; at most one."""
    found = {
        'data': self.task.data if self.task.names_data else '',
        'reverb_address': self.reverb_address,
        'dataset_dir': self.dataset_dir,
    }
    return {field: place for field, place in found.items() if place}

  @property
  def truth_dir(self) -> str:
    """Where the truth is kept: all runs of an environment share it."""
    name = self.task.env_id.replace('/', '_')
    return os.path.join(self.data_root, 'truth', name)

  def describe(self, dataset_checksum: str = '') -> dict:
    """Returns the content of config.json."""
    fields = {
        field.name: getattr(self, field.name)
        for field in dataclasses.fields(self)
    }
    return {
        **fields,
        'task': dataclasses.asdict(self.task),
        'algos': list(self.algos),
        'hyperparameters': self.hyperparameters.for_methods(self.algos),
        'dataset_checksum': dataset_checksum,
    }


Task: TypeAlias = tasks.Task | logged_tasks.LoggedTask


def make_task(
    config, server_timeout: float = _TIMEOUT, stream: bool = False
) -> Task:
  """Returns the task of a config of either kind."""
  if config.names_data:
    return logged_tasks.LoggedTask(config, server_timeout, stream)
  return tasks.Task(config)


def has_frames(
    config, server_timeout: float = _TIMEOUT, stream: bool = False
) -> bool:
  """Returns whether the observations of a task are stacks of frames."""
  if config.names_data:
    return logged_tasks.has_frames(config, server_timeout, stream)
  return environments.has_frames(config.env_id)


def resolve(
    config: RunConfig,
    server_timeout: float = _TIMEOUT,
    make_task: Callable[..., Task] = make_task,
) -> tuple[Task, RunConfig]:
  """Returns the task, and the run with nothing left open.

  Args:
    config: what to run.
    server_timeout: seconds to wait for the server at `reverb_address`.
    make_task: makes the task, or knows it from another run.

  Raises:
    UserError: if a field that was set differs from the data's description.
  """
  if config.reverb_address:
    client = clients.ReplayClient(config.reverb_address, server_timeout)
    found = provenance.of_server(client)
  else:
    found = config.dataset_dir and provenance.of_directory(config.dataset_dir)
  task_config, seed = config.task, config.seed
  if found:
    task_config, seed = found.follow(task_config, seed)
  task = make_task(task_config, server_timeout, config.stream)
  if found:
    found.check_policy(config.task, task.config)
  config = dataclasses.replace(config, task=task.config, seed=seed or 0)
  if not config.dataset_dir and not config.reverb_address:
    path = task.dataset_dir(config.data_root, config.seed)
    config = dataclasses.replace(config, dataset_dir=path)
  return task, config


def defaults(config: RunConfig) -> dict:
  """Returns the defaults of what `describe` tells, for runs before a field."""
  values = config.hyperparameters.for_methods(config.algos)
  usual = hyperparameters.fields()
  return {
      **config_file.defaults(config),
      'hyperparameters': {
          part: {name: usual[name][0].default for name in fields}
          for part, fields in values.items()
      },
  }


def check(config: RunConfig, run_dir: str):
  """Refuses a directory that holds another run, whatever its data.

  Raises:
    UserError: naming the field that differs.
  """
  config_file.check(
      run_dir,
      config.describe(),
      (*_CHANGEABLE, 'dataset_checksum'),
      _TRACES,
      defaults(config),
  )


def is_done(config: RunConfig, run_dir: str) -> bool:
  """Returns whether a directory holds the result of a run on the same data.

  Data below data_root are named by their description. A run on data that lay
  elsewhere may be of others, whatever their description: `run` compares.

  Raises:
    UserError: if the directory holds another run.
  """
  check(config, run_dir)
  if not result_file.exists(run_dir):
    return False
  path = os.path.join(run_dir, config_file.FILE_NAME)
  found = config_file.read_json(path, 'remove the run to evaluate again')
  return found.get('dataset_dir') == config.dataset_dir


def run(
    config: RunConfig,
    run_dir: str,
    server_timeout: float = _TIMEOUT,
    cache: dict | None = None,
    features_root: str = '',
) -> results.Evaluation:
  """Runs, resumes, or reads one evaluation.

  The directory is claimed when all checks have passed; that it holds another
  run is found before any work.

  Args:
    config: what to run.
    run_dir: where results and checkpoints are kept; it is locked meanwhile.
    server_timeout: seconds to wait for the server at `reverb_address`.
    cache: keeps the last data set that was read, for runs on parts of it.
    features_root: where runs leave phi, psi and Q for each other; '' shares
      none.

  Raises:
    UserError: if the directory holds another configuration, or another
      process works in it.
  """
  task, config = resolve(config, server_timeout)
  config = streaming.decided(config, task, run_dir)
  check(config, run_dir)
  with config_file.hold(run_dir), contextlib.ExitStack() as stack:
    if config.stream:
      dataset = stack.enter_context(
          streaming.dataset(task, config, server_timeout, run_dir)
      )
      stack.callback(dataset.close)
    else:
      dataset = _dataset(task, config, server_timeout, cache)
    return _run(task, config, dataset, run_dir, features_root)


def _dataset(task, config: RunConfig, server_timeout: float, cache):
  if config.reverb_address:
    return task.served_dataset(
        config.reverb_address, config.seed, server_timeout
    )
  if config.num_parts == 1:
    return task.dataset(config.dataset_dir, config.seed)
  cache = {} if cache is None else cache
  key = config.dataset_dir, config.seed, config.task
  if key not in cache:
    cache.clear()
    cache[key] = task.dataset(config.dataset_dir, config.seed)
  return episodes.part(cache[key], config.part, config.num_parts)


def _run(
    task, config: RunConfig, dataset, run_dir, features_root
) -> results.Evaluation:
  content = config.describe(dataset.checksum())
  known = defaults(config)
  config_file.check(run_dir, content, _CHANGEABLE, _TRACES, known)
  if result_file.exists(run_dir):
    return result_file.read(run_dir)
  problem, held_out = _problems(task, dataset, config)
  estimators = registry.make_estimators(
      config.algos,
      problem,
      config.hyperparameters,
      config.seed,
      held_out,
      progress.foretell_draws,
  )
  config_file.claim(run_dir, content, _CHANGEABLE, _TRACES, known)
  truth = truths.of_task(task, config.truth_dir)
  with metrics.MetricsWriter(run_dir, _hparams(config)) as writer:
    fit = fitting.Fit(
        estimators,
        truth.get('target'),
        os.path.join(run_dir, _CHECKPOINT),
        writer,
        feature_store.user(
            estimators, features_root, _trained_on(task, config, content)
        ),
    )
    fit.train()
    evaluation = results.Evaluation(
        methods=fit.found(
            support.of_policy(
                streamed.in_memory(dataset), task.target, config.seed
            )
        ),
        gamma=config.task.gamma,
        seed=config.seed,
        env_id=config.task.env_id,
        setting=config.task.setting,
        data=task.data_name,
        part=config.part,
        num_transitions=dataset.num_transitions,
        num_episodes=dataset.num_initial_states,
        mean_reward=float(np.mean(dataset.rewards)),
        truth=truth.get('target'),
        behaviour=truth.get('behaviour'),
        logged=returns.of_dataset(dataset, config.task.gamma),
    )
    whole = task.problem(dataset) if held_out else None
    _save_ratios(evaluation, run_dir, writer, whole)
  _save_trials(evaluation, run_dir)
  result_file.write(run_dir, evaluation)
  return evaluation


def _trained_on(task, config: RunConfig, content: dict) -> dict:
  """Returns all that phi, psi and Q depend on, beside their configs."""
  return {
      'data': content['dataset_checksum'],
      'env_id': config.task.env_id,
      'target': task.policy_descriptions['target'],
      'gamma': config.task.gamma,
      'seed': config.seed,
      'holdout_fraction': config.holdout_fraction,
  }


def _hparams(config: RunConfig) -> dict:
  """Returns what TensorBoard compares runs by."""
  return {
      **config.task.hparams,
      'seed': config.seed,
      'part': config.part,
      **config.hyperparameters.changes(),
  }


def _problems(task: Task, dataset, config: RunConfig):
  """Returns what is fitted, and what is held out of it or None."""
  if not config.holdout_fraction:
    return task.problem(dataset), None
  parts = episodes.split(
      dataset.num_initial_states, config.holdout_fraction, config.seed
  )
  return tuple(task.problem(dataset.of_episodes(part)) for part in parts)


def _save_ratios(evaluation: results.Evaluation, run_dir, writer, whole):
  """Saves the ratios [n] of each method, aligned with the whole data set."""
  ratios = {}
  for name, result in evaluation.methods.items():
    if result.ratios is None:
      continue
    ratios[name] = result.ratios
    if whole is not None:
      ratios[name] = result.estimator.ratio_of(whole)().numpy()
    if not result.diverged:
      step = result.curve.steps[-1] if result.curve.steps else 0
      writer.histogram(name, 'ratios', ratios[name], step)
  np.savez(os.path.join(run_dir, RATIOS), **ratios)


def _save_trials(evaluation: results.Evaluation, run_dir: str):
  """Writes the settings that a method tried beside the other results."""
  for name, result in evaluation.methods.items():
    if result.trials:
      path = os.path.join(run_dir, f'{name}_trials.csv')
      tidy.trials(evaluation, name).to_csv(path, index=False)
