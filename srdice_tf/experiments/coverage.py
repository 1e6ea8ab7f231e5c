"""How often the 95% intervals of linear SR-DICE hold the truth."""

import csv
import dataclasses
import os

import numpy as np

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import training
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import scoring
from srdice_tf.experiments import setup
from srdice_tf.experiments import truths
from srdice_tf.logging import progress as progress_lib

_METHOD = 'linear_srdice'
FILE_NAME = 'coverage.csv'
_COLUMNS = ('dataset', 'estimate', 'low', 'high', 'flow_residual')


@dataclasses.dataclass(frozen=True)
class CoverageConfig:
  """Independent data sets of one task.

  Attributes:
    task: what is evaluated; its transitions are those of one data set, and its
      roll-outs those of the one truth.
    num_datasets: how many data sets.
    estimators: hyper-parameters.
    seed: of the data.
  """

  task: setup.TaskConfig
  num_datasets: int = ranges.at_least(2)
  estimators: config_lib.Config
  seed: int = ranges.seed(0)

  def __post_init__(self):
    ranges.check(self)


@dataclasses.dataclass(frozen=True)
class Coverage:
  """What the intervals were worth.

  Attributes:
    num_datasets: that have an interval.
    share: of the intervals that hold the truth.
    median_width: of the intervals.
    bias: mean estimate less truth.
    spread: standard deviation of the estimates.
    mean_error: mean half width / 1.96: what the bootstrap takes `spread` for.
    centred_share: of the intervals that hold the mean estimate: what the share
      would be without the bias.
    truth: the value.
    truth_error: its standard error.
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


def run(config: CoverageConfig, directory: str) -> Coverage:
  """Measures the coverage; what is done is kept in `directory`.

  Episodes are independent, so one long collection is cut into data sets, each
  of whole episodes of its own.
  """
  task = setup.Task(config.task)
  config_file.claim(directory, dataclasses.replace(config, task=task.config))
  size = config.task.num_transitions * config.num_datasets
  collected = setup.Task(dataclasses.replace(config.task, num_transitions=size))
  data = collected.dataset(os.path.join(directory, 'data'), config.seed)
  truth = truths.of_task(task, directory, ['target'])['target']
  if data.num_initial_states < 2 * config.num_datasets:
    raise errors.UserError(
        f'--num_datasets={config.num_datasets}: there are'
        f' {data.num_initial_states} episodes; expected two for each data set.'
    )
  parts = np.array_split(
      np.arange(data.num_initial_states), config.num_datasets
  )
  rows = _read(directory)
  progress = progress_lib.Progress(
      len(parts), 'data sets', 'coverage', initial=len(rows)
  )
  with progress as bar:
    for number in range(len(rows), len(parts)):
      problem = task.problem(data.of_episodes(parts[number]))
      rows.append([number, *_fit(problem, config)])
      _write(directory, rows)
      bar.update(len(rows))
  return summary(rows, truth)


def _fit(problem, config: CoverageConfig) -> list[float]:
  """Returns estimate, low, high and flow residual of one data set."""
  made = registry.make_estimators(
      [_METHOD], problem, config.estimators, config.seed
  )
  training.Trainer(made).run()
  estimator = made[_METHOD]
  scorer = scoring.Scorer(problem, None, config.estimators, config.seed)
  low, high = (scorer.interval(estimator) or (np.nan, np.nan))[:2]
  return [float(estimator.estimate()), low, high, estimator.flow_residual]


def summary(rows, truth: truth_lib.PolicyValue) -> Coverage:
  """Returns the coverage of rows as in coverage.csv."""
  _, estimates, low, high, _ = np.asarray(rows, np.float64).T
  holds = lambda value: float(np.mean((low <= value) & (value <= high)))
  widths = high - low
  return Coverage(
      num_datasets=int(np.isfinite(widths).sum()),
      share=holds(truth.value),
      median_width=float(np.nanmedian(widths)),
      bias=float(estimates.mean() - truth.value),
      spread=float(estimates.std(ddof=1)),
      mean_error=float(np.nanmean(widths) / (2 * 1.96)),
      centred_share=holds(estimates.mean()),
      truth=truth.value,
      truth_error=truth.standard_error,
  )


def _read(directory: str) -> list[list[float]]:
  path = os.path.join(directory, FILE_NAME)
  if not os.path.exists(path):
    return []
  with open(path, newline='') as file:
    _, *rows = csv.reader(file)
  return [[float(value) for value in row] for row in rows]


def _write(directory: str, rows: list[list[float]]):
  path = os.path.join(directory, FILE_NAME)
  with open(f'{path}.tmp', 'w', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerows([_COLUMNS, *rows])
  os.replace(f'{path}.tmp', path)
