"""Several seeds of one evaluation as one result."""

import json
import os

import numpy as np

from srdice_tf.evaluation import log_error
from srdice_tf.experiments import ope
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
  curves.plot_curves(path, joined, _behaviour(run_dirs), title)


def _padded(values: np.ndarray, length: int) -> np.ndarray:
  return np.pad(
      values, (0, length - len(values)), constant_values=np.nan
  )  # [T]


def _behaviour(run_dirs) -> float:
  """Returns the mean log error of the behaviour policies' values."""
  errors = []
  for run_dir in run_dirs:
    with open(os.path.join(run_dir, 'estimate.json')) as file:
      truth = json.load(file)['truth']
    errors.append(
        log_error.log_error(
            truth['behaviour']['value'], truth['target']['value']
        )
    )
  return float(np.mean(errors))
