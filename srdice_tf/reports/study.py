"""Many evaluations as a table: one line for each task and method."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from srdice_tf import results
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import tidy
from srdice_tf.reports import tables

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


def table(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns means and standard deviations over seeds, as Markdown."""
  frame = tidy.frame(evaluations)
  rows = [
      [*key, *_summary(group)]
      for key, group in frame.groupby(['env', 'method'])
  ]
  return tables.to_markdown(_COLUMNS, rows)


def _summary(group: pd.DataFrame) -> list:
  told = group.dropna(subset=['low', 'high'])
  held = (told['low'] <= told['truth']) & (told['truth'] <= told['high'])
  correlations = group['rank_correlation'].dropna()
  return [
      len(group),
      float(np.mean(group['relative_error'])),
      tables.deviation(group['relative_error']),
      float(np.mean(group['log_error'])),
      tables.deviation(group['log_error']),
      log_error.allowed(float(group['truth_error'].mean())),
      float(group['seconds'].mean()),
      f'{held.sum()} of {len(told)}' if len(told) else '-',
      float(correlations.mean()) if len(correlations) else None,
  ]


def line(evaluation: results.Evaluation) -> str:
  """Returns one line on a run that is done."""
  truth = evaluation.truth
  against = '' if truth is None else f'truth {truth.value:.4f}, '
  parts = [
      f'{name} {result.value:.4f} ({against}{result.seconds:.0f} s)'
      for name, result in evaluation.methods.items()
  ]
  return f'{evaluation.env_id} seed {evaluation.seed}: {", ".join(parts)}'
