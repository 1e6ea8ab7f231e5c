"""Several seeds of one evaluation as one result."""

import numpy as np

from srdice_tf.evaluation import intervals
from srdice_tf.evaluation import log_error
from srdice_tf.experiments import estimate_file
from srdice_tf.experiments import ope
from srdice_tf.experiments import setup
from srdice_tf.reports import curves
from srdice_tf.reports import not_finite
from srdice_tf.reports import summaries


def plot(run_dirs: list[str], path: str, title: str):
  """Draws the curves of several runs, means and deviations over them.

  Args:
    run_dirs: of runs that differ in nothing but their seed.
    path: of the picture.
    title: above the axes.

  Raises:
    UserError: if an estimate.json or a metrics.csv of theirs is damaged.
  """
  truths = [estimate_file.truth(run_dir) for run_dir in run_dirs]
  behaviour = [
      log_error.log_error(truth['behaviour'].value, truth['target'].value)
      for truth in truths
  ]
  results = [estimate_file.results(run_dir) for run_dir in run_dirs]
  errors = _joined(run_dirs, results, 'log_error')
  estimates = _joined(run_dirs, results, 'estimate')
  targets = [truth['target'] for truth in truths]
  curves.plot_curves(
      path,
      errors,
      float(np.mean(behaviour)),
      title,
      values={
          method: (steps, values.mean(axis=0), _interval(results, method))
          for method, (steps, values) in estimates.items()
      },
      truth=(
          float(np.mean([target.value for target in targets])),
          float(np.mean([target.standard_error for target in targets])),
      ),
  )


def title(task: setup.TaskConfig, num_seeds: int) -> str:
  """Returns what stands above the picture."""
  setting = f', {task.setting} setting' if task.setting else ''
  return f'{task.env_id}{setting}, {num_seeds} seed{"s" * (num_seeds > 1)}'


def truth_lines(run_dirs: list[str]) -> str:
  """Returns a line on the truth; on each, if it is not the same for all."""
  values = [estimate_file.truth(run_dir)['target'] for run_dir in run_dirs]
  return '\n'.join(dict.fromkeys(map(summaries.of_truth, values)))


def check_finite(run_dirs: list[str]):
  """Raises an error if a method of a run has no finite estimate."""
  for run_dir in run_dirs:
    found = estimate_file.results(run_dir)
    not_finite.check({r.method: r.estimate for r in found}, run_dir)


def _joined(run_dirs, results, metric: str):
  """Returns the updates [T] and a metric [S, T] of each method, by its name.

  A method that diverged has fewer points in that run, or none: the rest is NaN.
  A run that never had the method does not count.
  """
  runs = [ope.curves_of(run_dir, metric) for run_dir in run_dirs]
  names = dict.fromkeys(r.method for found in results for r in found)
  joined = {}
  for method in names:
    pairs = zip(runs, results)
    having = [run for run, found in pairs if _of(found, method) is not None]
    curves_of_method = [run.get(method, ([], [])) for run in having]
    steps = max((steps for steps, _ in curves_of_method), key=len)
    if len(steps):
      joined[method] = np.asarray(steps), np.stack(
          [_padded(values, len(steps)) for _, values in curves_of_method]
      )  # [T], [S, T]
  return joined


def _interval(results, method: str) -> tuple[float, float] | None:
  """Returns low and high of the mean over the runs that have a method."""
  found = [_of(of_run, method) for of_run in results]
  found = [result for result in found if result is not None]
  return intervals.over_seeds(
      [result.estimate for result in found],
      [result.interval for result in found],
  )


def _of(results: list[ope.Result], method: str) -> ope.Result | None:
  return next((r for r in results if r.method == method), None)


def _padded(values, length: int) -> np.ndarray:
  values = np.asarray(values, np.float64)
  return np.pad(
      values, (0, length - len(values)), constant_values=np.nan
  )  # [T]
