"""One off-policy evaluation, from a config to a run directory."""

import dataclasses
import os

import numpy as np

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import training
from srdice_tf.estimators import base
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.evaluation import diagnostics
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import provenance
from srdice_tf.experiments import scoring
from srdice_tf.experiments import setup
from srdice_tf.experiments import truths
from srdice_tf.logging import metrics as metrics_lib
from srdice_tf.logging import progress as progress_lib
from srdice_tf.replay import clients
from srdice_tf.reports import curves
from srdice_tf.reports import selection as selection_report

_INTERVAL = 1000
_DATA_ROOT = 'data'
_TIMEOUT = 30.0  # Seconds.
# What a run goes on from.
TRACES = ('checkpoint', metrics_lib.FILE_NAME, 'estimate.json')


@dataclasses.dataclass(frozen=True)
class RunConfig:
  """One run: a task, estimators, a seed, and where the data are.

  Attributes:
    task: what is evaluated.
    algos: names of the estimators.
    estimators: hyper-parameters.
    seed: of data and estimators; None for that of the data, or 0.
    dataset_dir: the data set, collected if it is not there; '' for a directory
      below data/ that no other request shares.
    reverb_address: of a server that has the data instead.
    holdout_fraction: share of the episodes that is not fitted: flow residuals
      are measured on it.
    truth_dir: where the truth is kept; '' for with the data, where these may be
      written, else with the run; below data/ if the data are there by default.
    dataset_checksum: of the contents of the data, which `run` fills in.
  """

  task: setup.TaskConfig
  algos: tuple[str, ...]
  estimators: config_lib.Config
  seed: int | None = ranges.seed(None)
  dataset_dir: str = ''
  reverb_address: str = ''
  holdout_fraction: float = ranges.between(0, 0.9, 0.0)
  truth_dir: str = ''
  dataset_checksum: str = ''

  def __post_init__(self):
    ranges.check(self)
    registry.check_names(self.algos)


@dataclasses.dataclass(frozen=True)
class Result:
  """What one method found in one run.

  Attributes:
    method: name of the estimator.
    estimate: of the value; NaN if it diverged.
    truth: true value of the target policy.
    truth_error: its standard error.
    log_error: log(0.5 (estimate - truth)^2) at the end.
    smoothed_log_error: mean over the last ten evaluations.
    seconds: of training, shared phases included.
    diverged: whether the numbers ceased to be finite.
    details: further results of the method.
    ratios: RatioDiagnostics as a dict; None if it has no ratios.
    flow_residual: by how much the ratios miss the flow; None without ratios.
    flow_scored_on: what it was measured on: the fitted data, held-out
      episodes, or each half with the fit of the other (cross-fit).
    interval: the 95% interval, low and high; None if there is none.
    standard_error: of the estimate, by the same bootstrap.
  """

  method: str
  estimate: float
  truth: float
  truth_error: float
  log_error: float
  smoothed_log_error: float
  seconds: float
  diverged: bool
  details: dict
  ratios: dict | None
  flow_residual: float | None = None
  flow_scored_on: str | None = None
  interval: tuple[float, float] | None = None
  standard_error: float | None = None

  @property
  def relative_error(self) -> float:
    return abs(self.estimate - self.truth) / max(abs(self.truth), 1e-12)


def resolve(
    config: RunConfig, server_timeout: float = _TIMEOUT
) -> tuple[setup.Task, RunConfig]:
  """Returns the task, and the run with nothing left open but the checksum.

  Raises:
    UserError: if a flag that was set differs from the data's description.
  """
  if config.dataset_dir and config.reverb_address:
    raise errors.UserError(
        f'--dataset_dir={config.dataset_dir}: not beside'
        f' --reverb_address={config.reverb_address}, whose data are used.'
    )
  if config.reverb_address:
    client = clients.ReplayClient(config.reverb_address, server_timeout)
    found = provenance.of_server(client)
  else:
    found = config.dataset_dir and provenance.of_directory(config.dataset_dir)
  task_config, seed = config.task, config.seed
  if found:
    task_config, seed = found.follow(task_config, seed)
  task = setup.Task(task_config)
  if found:
    found.check_policy(config.task, task.config)
  config = dataclasses.replace(config, task=task.config, seed=seed or 0)
  if not config.dataset_dir and not config.reverb_address:
    # All seeds and methods have the same truth.
    name = config.task.env_id.replace('/', '_')
    config = dataclasses.replace(
        config,
        dataset_dir=task.dataset_dir(_DATA_ROOT, config.seed),
        truth_dir=config.truth_dir or os.path.join(_DATA_ROOT, 'truth', name),
    )
  return task, config


def of_seeds(
    config: RunConfig, num_seeds: int, server_timeout: float = _TIMEOUT
) -> list[RunConfig]:
  """Returns a run for each of several seeds, each with data of its own.

  Raises:
    UserError: as `resolve` does, or if there is one data set for all of them.
  """
  for flag in ('dataset_dir', 'reverb_address'):
    if num_seeds > 1 and getattr(config, flag):
      raise errors.UserError(
          f'--num_seeds={num_seeds}: each seed has a data set of its own, but'
          f' --{flag}={getattr(config, flag)} is one; leave one of the two out.'
      )
  first = config.seed or 0
  seeds = [config.seed] if num_seeds == 1 else range(first, first + num_seeds)
  configs = [dataclasses.replace(config, seed=seed) for seed in seeds]
  return [resolve(each, server_timeout)[1] for each in configs]


def run(
    config: RunConfig, run_dir: str, server_timeout: float = _TIMEOUT
) -> list[Result]:
  """Runs, or resumes, one evaluation.

  The directory is claimed when all checks have passed; that it holds another
  run is found before any work.

  Args:
    config: what to run.
    run_dir: where results and checkpoints are kept; it is locked meanwhile.
    server_timeout: seconds to wait for the server at `reverb_address`.

  Returns:
    A result for each method.

  Raises:
    UserError: if the directory holds another configuration, or another
      process works in it.
  """
  task, config = resolve(config, server_timeout)
  config_file.check(run_dir, config, ('dataset_checksum',), TRACES)
  with config_file.hold(run_dir):
    return _run(task, config, run_dir, server_timeout)


def _run(task, config: RunConfig, run_dir, server_timeout) -> list[Result]:
  dataset = (
      task.served_dataset(config.reverb_address, config.seed, server_timeout)
      if config.reverb_address
      else task.dataset(config.dataset_dir, config.seed)
  )
  config = dataclasses.replace(config, dataset_checksum=dataset.checksum())
  config_file.check(run_dir, config, traces=TRACES)
  problem, held_out = _problems(task, dataset, config)
  scorer = scoring.Scorer(problem, held_out, config.estimators, config.seed)
  estimators = registry.make_estimators(
      config.algos, problem, config.estimators, config.seed
  )
  config_file.claim(run_dir, config, traces=TRACES)
  truth = truths.of_task(task, _truth_dir(config, run_dir))
  trainer = training.Trainer(
      estimators, os.path.join(run_dir, 'checkpoint'), _INTERVAL
  )
  with metrics_lib.MetricsWriter(run_dir) as writer:
    writer.truncate(lambda _, phase, step: step <= trainer.step_of(phase))
    _check_metrics(trainer, estimators, run_dir)
    _train(trainer, estimators, truth['target'].value, writer, scorer)
    results = _results(trainer, estimators, truth, run_dir, scorer)
    whole = task.problem(dataset) if config.holdout_fraction else None
    _save_ratios(estimators, trainer, run_dir, writer, whole)
  config_file.write_json(
      os.path.join(run_dir, 'estimate.json'),
      {
          'truth': {k: dataclasses.asdict(v) for k, v in truth.items()},
          'data_mean_reward': float(np.mean(dataset.rewards)),
          'methods': [dataclasses.asdict(result) for result in results],
      },
  )
  title = f'{config.task.env_id}, {config.task.setting} setting'
  _plot(title, truth, results, run_dir)
  return results


def _check_metrics(trainer, estimators, run_dir: str):
  """Raises an error if metrics.csv lacks what the checkpoint has reported."""
  found = curves_of(run_dir, 'estimate')
  for name, estimator in estimators.items():
    last = trainer.step_of(estimator.phases[-1].name)
    wanted = [*range(_INTERVAL, last, _INTERVAL), last] if last else []
    steps, _ = found.get(name, ((), ()))
    if list(steps) != wanted:
      path = os.path.join(run_dir, metrics_lib.FILE_NAME)
      raise errors.UserError(
          f'{path}: has {len(steps)} estimates of {name}, of which the'
          f' checkpoint has made {len(wanted)}: it was cut short or edited;'
          f' remove {run_dir} to begin anew.'
      )


def _truth_dir(config: RunConfig, run_dir: str) -> str:
  if config.truth_dir:
    return config.truth_dir
  is_writable = os.access(config.dataset_dir, os.W_OK)
  return config.dataset_dir if is_writable else run_dir


def _problems(task: setup.Task, dataset, config: RunConfig):
  """Returns what is fitted, and what is held out of it or None."""
  if not config.holdout_fraction:
    return task.problem(dataset), None
  parts = scoring.split_episodes(
      dataset.num_initial_states, config.holdout_fraction, config.seed
  )
  return tuple(task.problem(dataset.of_episodes(part)) for part in parts)


def _train(trainer, estimators, truth: float, writer, scorer):
  phases = {p.name: p for e in estimators.values() for p in e.phases}
  total = sum(phase.num_steps for phase in phases.values())
  done = {name: trainer.step_of(name) for name in phases}
  progress = progress_lib.Progress(
      total, 'steps', 'train', initial=sum(done.values())
  )
  with progress as bar:

    def on_report(report: training.Report):
      done[report.phase] = report.step
      fields = {'phase': report.phase}
      values = dict(report.metrics)
      if report.estimate is not None:
        values['estimate'] = report.estimate
        values['log_error'] = float(log_error.log_error(report.estimate, truth))
        residual = scorer.flow_residual(estimators[report.method])
        if residual is not None:
          values['flow_residual'] = residual
        fields |= {
            'estimate': f'{report.estimate:.4f}',
            'log_error': f'{values["log_error"]:.2f}',
        }
      writer.write(report.method, report.phase, report.step, values)
      scores = getattr(estimators[report.method], 'scores', ())
      if scores:
        selection_report.write(writer.run_dir, scores, truth)
      bar.update(sum(done.values()), trainer.seconds_left(), **fields)

    trainer.run(on_report)


def _results(trainer, estimators, truth, run_dir, scorer) -> list[Result]:
  target: truth_lib.PolicyValue = truth['target']
  errors_of = curves_of(run_dir)
  results = []
  for name, estimator in estimators.items():
    diverged = trainer.has_diverged(name)
    estimate = float('nan') if diverged else float(estimator.estimate())
    ratios = None
    if isinstance(estimator, base.RatioEstimator):
      ratios = dataclasses.asdict(
          diagnostics.ratio_diagnostics(
              estimator.ratios().numpy(), target.occupancy
          )
      )
    interval = None if diverged else scorer.interval(estimator)
    steps_and_errors = errors_of.get(name)
    error = float(log_error.log_error(estimate, target.value))
    smoothed = (
        log_error.smooth(steps_and_errors[1])[-1]
        if steps_and_errors is not None
        else error
    )
    results.append(
        Result(
            method=name,
            estimate=estimate,
            truth=target.value,
            truth_error=target.standard_error,
            log_error=error,
            smoothed_log_error=float(smoothed),
            seconds=trainer.seconds_of(name),
            diverged=diverged,
            details={} if diverged else estimator.details(),
            ratios=ratios,
            flow_residual=scorer.flow_residual(estimator),
            flow_scored_on=scorer.scored_on(estimator),
            interval=interval and interval[:2],
            standard_error=interval and interval.standard_error,
        )
    )
  return results


def curves_of(
    run_dir: str, name: str = 'log_error'
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
  """Returns for each method the updates and a metric of a run."""
  found = {}
  path = os.path.join(run_dir, metrics_lib.FILE_NAME)
  for metric in metrics_lib.read_metrics(path):
    if metric.name == name:
      found.setdefault(metric.method, []).append((metric.step, metric.value))
  return {
      method: tuple(np.asarray(points, float).T)
      for method, points in found.items()
  }


def _save_ratios(estimators, trainer, run_dir, writer, whole):
  """Saves the ratios [n] of each method, aligned with the whole data set."""
  ratios = {}
  for name, estimator in estimators.items():
    if isinstance(estimator, base.RatioEstimator):
      ratios[name] = (
          whole.over_data(estimator.ratio)() if whole else estimator.ratios()
      ).numpy()
      if not trainer.has_diverged(name):
        step = trainer.step_of(estimator.phases[-1].name)
        writer.histogram(name, 'ratios', ratios[name], step)
  np.savez(os.path.join(run_dir, 'ratios.npz'), **ratios)


def _plot(title: str, truth, results: list[Result], run_dir: str):
  target = truth['target']
  behaviour = log_error.log_error(truth['behaviour'].value, target.value)
  estimates = curves_of(run_dir, 'estimate')
  intervals = {result.method: result.interval for result in results}
  curves.plot_curves(
      os.path.join(run_dir, 'curve.png'),
      curves_of(run_dir),
      float(behaviour),
      title,
      values={
          method: (*curve, intervals.get(method))
          for method, curve in estimates.items()
      },
      truth=(target.value, target.standard_error),
  )
