"""A study as a table: one line for each task and method."""

from collections.abc import Sequence
import csv
import os

import numpy as np

from srdice_tf.evaluation import log_error
from srdice_tf.reports import not_finite
from srdice_tf.reports import summaries
from srdice_tf.reports import tables

_FIELDS = (
    'env',
    'seed',
    'method',
    'estimate',
    'truth',
    'truth_error',
    'truth_allows',
    'relative_error',
    'log_error',
    'seconds',
    'flow_residual',
    'low',
    'high',
    'rank_correlation',
)
_COLUMNS = (
    'task',
    'method',
    'seeds',
    'relative error',
    'std',
    'log error',
    'std',
    'truth allows',
    'seconds',
    'intervals that hold the truth',
    'rank correlation',
)


def _row(run, result) -> list:
  return [
      run.env_id,
      run.seed,
      result.method,
      result.estimate,
      result.truth,
      result.truth_error,
      log_error.allowed(result.truth_error),
      result.relative_error,
      result.log_error,
      result.seconds,
      result.flow_residual,
      *(result.interval or (None, None)),
      run.rank_correlation,
  ]


def write(path: str, runs: Sequence) -> None:
  """Writes a line for each run and method (experiments.study.Run)."""
  with open(f'{path}.tmp', 'w', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(_FIELDS)
    for run in runs:
      writer.writerows(_row(run, result) for result in run.results)
  os.replace(f'{path}.tmp', path)


def table(runs: Sequence) -> str:
  """Returns means and standard deviations over seeds, as Markdown."""
  by_key = {}
  for run in runs:
    for result in run.results:
      key = run.env_id, result.method
      by_key.setdefault(key, []).append((run, result))
  rows = [[*key, *_summary(pairs)] for key, pairs in sorted(by_key.items())]
  return tables.to_markdown(_COLUMNS, rows)


def _summary(pairs) -> list:
  results = [result for _, result in pairs]
  relative = [result.relative_error for result in results]
  logs = [result.log_error for result in results]
  held = [
      result.interval[0] <= result.truth <= result.interval[1]
      for result in results
      if result.interval is not None
  ]
  # The grid is linear SR-DICE's.
  is_linear = results[0].method == 'linear_srdice'
  correlations = [run.rank_correlation for run, _ in pairs if is_linear]
  correlations = [found for found in correlations if np.isfinite(found)]
  return [
      len(pairs),
      float(np.mean(relative)),
      tables.deviation(relative),
      float(np.mean(logs)),
      tables.deviation(logs),
      log_error.allowed(np.mean([r.truth_error for r in results])),
      float(np.mean([result.seconds for result in results])),
      f'{sum(held)} of {len(held)}' if held else '-',
      float(np.mean(correlations)) if correlations else None,
  ]


def truth_lines(runs: Sequence) -> str:
  """Returns a line on the truth of each task."""
  lines = [f'{run.env_id}: {summaries.of_truth(run.truth)}' for run in runs]
  return '\n'.join(dict.fromkeys(' '.join(line.split()) for line in lines))


def check_finite(runs: Sequence, path: str):
  """Raises an error if a method of a run has no finite estimate."""
  estimates = {
      f'{result.method} on {run.env_id} seed {run.seed}': result.estimate
      for run in runs
      for result in run.results
  }
  not_finite.check(estimates, path)


def line(run) -> str:
  """Returns one line on a run that is done."""
  parts = [
      f'{result.method} {result.estimate:.4f} (truth {result.truth:.4f},'
      f' {result.seconds:.0f} s)'
      for result in run.results
  ]
  return f'{run.env_id} seed {run.seed}: {", ".join(parts)}'
