"""The table at the end of the toy experiment."""

from collections.abc import Sequence

import pandas as pd

from srdice_tf.reports import not_finite
from srdice_tf.reports import tables

_SHARES = (0.02, 0.1, 0.2, 0.5)  # Of the updates, after which errors are shown.
_LAST = 10


def table(curves: Sequence) -> str:
  """Returns the mean log MSE of each method along its training.

  Args:
    curves: experiments.chain.ChainCurve of each method with each kind of
      features, all with the same updates.
  """
  count = len(curves[0].steps)
  marks = [max(0, round(share * count) - 1) for share in _SHARES]
  columns = [
      'features',
      'method',
      *(f'at {curves[0].steps[mark]:,}' for mark in marks),
      f'last {_LAST}',
      'std over trials',
  ]
  rows = []
  for curve in curves:
    means = curve.log_mse.mean(axis=0)  # [E]
    last = curve.log_mse[:, -_LAST:].mean(axis=1)  # [T]
    numbers = [*means[marks].tolist(), float(last.mean())]
    deviation = tables.deviation(last)
    rows.append([curve.features, curve.method, *numbers, deviation])
  return tables.format_table(columns, rows)


def frame(curves: Sequence) -> pd.DataFrame:
  """Returns the log MSE at the end as a tidy table: a row for each trial."""
  rows = [
      {
          'features': curve.features,
          'method': curve.method,
          'trial': trial,
          'updates': int(curve.steps[-1]),
          'log_mse': float(found[-_LAST:].mean()),
      }
      for curve in curves
      for trial, found in enumerate(curve.log_mse)
  ]
  return pd.DataFrame(rows)


def check_finite(curves: Sequence, where: str):
  """Raises an error if the ratios of a trial are not finite at the end."""
  errors = {
      f'{curve.method} with {curve.features} features': curve.log_mse[:, -1]
      for curve in curves
  }
  not_finite.check({k: float(v.sum()) for k, v in errors.items()}, where)
