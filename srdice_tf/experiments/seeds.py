"""Several seeds of one evaluation as one result."""

import json
import os

import numpy as np

from srdice_tf.evaluation import intervals
from srdice_tf.evaluation import log_error
from srdice_tf.experiments import ope
from srdice_tf.experiments import setup
from srdice_tf.reports import curves


def plot(run_dirs: list[str], path: str, title: str):
  """Draws the curves of several runs, means and deviations over them.

  Args:
    run_dirs: of runs that differ in nothing but their seed.
    path: of the picture.
    title: above the axes.
  """
  runs = [ope.curves_of(run_dir) for run_dir in run_dirs]
  joined = {}
  for method in runs[0]:
    # A method that diverged has fewer points in that run.
    length = max(len(run[method][0]) for run in runs)
    steps = max((run[method][0] for run in runs), key=len)
    joined[method] = steps, np.stack(
        [_padded(run[method][1], length) for run in runs]
    )  # [T], [S, T]
  estimates = [_estimates(run_dir) for run_dir in run_dirs]
  truths = [found['truth'] for found in estimates]
  behaviour = [
      log_error.log_error(t['behaviour']['value'], t['target']['value'])
      for t in truths
  ]
  values, truth = _values(run_dirs, estimates)
  curves.plot_curves(
      path, joined, float(np.mean(behaviour)), title, values=values, truth=truth
  )


def title(task: setup.TaskConfig, num_seeds: int) -> str:
  """Returns what stands above the picture."""
  setting = f', {task.setting} setting' if task.setting else ''
  return f'{task.env_id}{setting}, {num_seeds} seed{"s" * (num_seeds > 1)}'


def _values(run_dirs, estimates):
  """Returns mean estimates with their intervals, and the mean truth."""
  runs = [ope.curves_of(run_dir, 'estimate') for run_dir in run_dirs]
  values = {}
  for position, method in enumerate(runs[0]):
    found = [estimate['methods'][position] for estimate in estimates]
    length = min(len(run[method][0]) for run in runs)
    mean = np.mean([run[method][1][:length] for run in runs], axis=0)  # [T]
    values[method] = (
        runs[0][method][0][:length],
        mean,
        intervals.over_seeds(
            [f['estimate'] for f in found],
            [f['interval'] for f in found],
            [f['standard_error'] for f in found],
        ),
    )
  targets = [found['truth']['target'] for found in estimates]
  return values, (
      float(np.mean([target['value'] for target in targets])),
      float(np.mean([target['standard_error'] for target in targets])),
  )


def _padded(values: np.ndarray, length: int) -> np.ndarray:
  return np.pad(
      values, (0, length - len(values)), constant_values=np.nan
  )  # [T]


def _estimates(run_dir: str) -> dict:
  with open(os.path.join(run_dir, 'estimate.json')) as file:
    return json.load(file)
