"""How often the 95% intervals of linear SR-DICE hold the truth."""

import dataclasses
import os

import numpy as np

from srdice_tf import config_file
from srdice_tf import csv_file
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import training
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.evaluation import intervals
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import scoring
from srdice_tf.experiments import setup
from srdice_tf.experiments import truths
from srdice_tf.logging import progress as progress_lib

_METHOD = 'linear_srdice'
FILE_NAME = 'coverage.csv'
_COLUMNS = (
    'dataset',
    'estimate',
    'low',
    'high',
    'standard_error',
    'flow_residual',
)


@dataclasses.dataclass(frozen=True)
class CoverageConfig:
  """Independent data sets of one task.

  Attributes:
    task: what is evaluated; its transitions are those of one data set, and its
      roll-outs those of the one truth.
    num_datasets: how many data sets.
    estimators: hyper-parameters.
    seed: of the data.
    dataset_checksum: of the contents of the data, which `run` fills in.
  """

  task: setup.TaskConfig
  num_datasets: int = ranges.at_least(2)
  estimators: config_lib.Config
  seed: int = ranges.seed(0)
  dataset_checksum: str = ''

  def __post_init__(self):
    ranges.check(self)
    draws = self.estimators.bootstrap_draws
    if draws < intervals.MIN_DRAWS:
      raise errors.UserError(
          f'--bootstrap_draws={draws}: too few for an interval; expected at'
          f' least {intervals.MIN_DRAWS}.'
      )


@dataclasses.dataclass(frozen=True)
class Coverage:
  """What the intervals were worth.

  Attributes:
    num_datasets: that have an interval.
    share: of the intervals that hold the truth.
    median_width: of the intervals.
    bias: mean estimate less truth.
    spread: standard deviation of the estimates.
    mean_error: mean standard error: what the bootstrap takes `spread` for.
    centred_share: of the intervals that hold the mean estimate: what the share
      would be without the bias.
    truth: the value.
    truth_error: its standard error; 0 if it is exact.
    truth_capped: whether roll-outs ended before it was as small as wanted.
  """

  num_datasets: int
  share: float
  median_width: float
  bias: float
  spread: float
  mean_error: float
  centred_share: float
  truth: float
  truth_error: float
  truth_capped: bool


def run(config: CoverageConfig, directory: str) -> Coverage:
  """Measures the coverage; what is done is kept in `directory`.

  Episodes are independent, so one long collection is cut into data sets, each
  of whole episodes of its own.

  Raises:
    UserError: if the directory holds another configuration, or another process
      works in it.
  """
  with config_file.hold(directory):
    return _run(config, directory)


def _run(config: CoverageConfig, directory: str) -> Coverage:
  task = setup.Task(config.task)
  size = config.task.num_transitions * config.num_datasets
  collected = setup.Task(dataclasses.replace(config.task, num_transitions=size))
  collected.check_memory()
  config = dataclasses.replace(config, task=task.config)
  config_file.check(directory, config, ('dataset_checksum',))
  path = os.path.join(directory, FILE_NAME)
  rows = _read(path, config.num_datasets)
  config_file.check(directory, config, ('dataset_checksum',), [FILE_NAME])
  data = collected.dataset(os.path.join(directory, 'data'), config.seed)
  if data.num_initial_states < 2 * config.num_datasets:
    raise errors.UserError(
        f'--num_datasets={config.num_datasets}: there are'
        f' {data.num_initial_states} episodes; expected two for each data set.'
    )
  parts = np.array_split(
      np.arange(data.num_initial_states), config.num_datasets
  )
  _make(task.problem(data.of_episodes(parts[0])), config)  # Checks settings.
  config = dataclasses.replace(config, dataset_checksum=data.checksum())
  config_file.claim(directory, config)
  truth = truths.of_task(task, directory, ['target'])['target']
  progress = progress_lib.Progress(
      len(parts), 'data sets', 'coverage', initial=len(rows)
  )
  with progress as bar:
    for number in range(len(rows), len(parts)):
      problem = task.problem(data.of_episodes(parts[number]))
      rows.append([number, *_fit(problem, config)])
      csv_file.write(path, _COLUMNS, rows)
      bar.update(len(rows))
  return summary(rows, truth)


def _make(problem, config: CoverageConfig):
  return registry.make_estimators(
      [_METHOD],
      problem,
      config.estimators,
      config.seed,
      progress_lib.foretell_draws,
  )


def _fit(problem, config: CoverageConfig) -> list[float]:
  """Returns what a row of coverage.csv holds of one data set."""
  made = _make(problem, config)
  training.Trainer(made).run()
  estimator = made[_METHOD]
  scorer = scoring.Scorer(problem, None, config.estimators, config.seed)
  interval = scorer.interval(estimator) or [np.nan] * 3
  return [float(estimator.estimate()), *interval, estimator.flow_residual]


def summary(rows, truth: truth_lib.PolicyValue) -> Coverage:
  """Returns the coverage of rows as in coverage.csv."""
  _, estimates, low, high, deviations, _ = np.asarray(rows, np.float64).T
  told = np.isfinite(high - low)
  holds = lambda value: float(np.mean(((low <= value) & (value <= high))[told]))
  return Coverage(
      num_datasets=int(told.sum()),
      share=holds(truth.value),
      median_width=float(np.median((high - low)[told])),
      bias=float(estimates.mean() - truth.value),
      spread=float(estimates.std(ddof=1)),
      mean_error=float(np.mean(deviations[told])),
      centred_share=holds(estimates.mean()),
      truth=truth.value,
      truth_error=truth.standard_error,
      truth_capped=truth.is_capped,
  )


def _read(path: str, num_datasets: int) -> list[list[float]]:
  """Returns the rows that are done."""
  advice = 'remove it, and the same command measures anew'
  rows = [list(row.values()) for row in csv_file.read(path, _COLUMNS, advice)]
  numbers = [row[0] for row in rows]
  if numbers != list(range(len(rows))) or len(rows) > num_datasets:
    raise errors.UserError(
        f'{path}: its rows are not those of data sets 0 to {num_datasets - 1},'
        f' in this order; {advice}.'
    )
  return [[int(number), *rest] for number, *rest in rows]
