"""What is asked about the runs of each game and method.

Each function here returns a comparison, that of some runs with nothing else.
"""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import pandas as pd

from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules

FAR = 100.0  # Two orders of magnitude.
NEAR = 0.1
_TINY = 1e-12
_NORMAL = 1.96  # Of a 95% interval.


def on_games(
    question: Callable[[pd.DataFrame], claim_rules.Comparison],
    methods: Sequence[str],
    experiment: str,
    min_games: int,
    together: bool = False,
) -> claim_checks.Decide:
  """Asks a question about the runs of each method on each game.

  Args:
    question: about some runs.
    methods: whose runs are meant.
    experiment: likewise.
    min_games: to confirm.
    together: whether it is asked about the runs of all methods at once, where
      all of them are.
  """
  cell = ['task'] if together else ['method', 'task']

  def decide(evidence):
    runs = evidence.runs
    if not len(runs) or 'truth' not in runs:
      return claim_rules.Finding()
    is_meant = runs['method'].isin(methods) & runs['truth'].notna()
    rows = runs[is_meant & (runs['experiment'] == experiment)]
    cells = [same for _, same in rows.groupby(cell, sort=False)]
    if together:
      cells = [same for same in cells if {*same['method']} == {*methods}]
    return claim_rules.on_every_task(
        [question(same) for same in cells],
        min_games,
        1 if together else len(methods),
        alone=0.0,
    )

  return decide


def is_far_off(rows: pd.DataFrame) -> claim_rules.Comparison:
  """Says whether half of the runs are once off by over 100 times the value."""
  errors = rows['worst_error'].astype(float)
  share = float(((errors > FAR) | rows['diverged'].astype(bool)).mean())
  answer = claim_rules.YES if share >= 0.5 else claim_rules.NO
  what = 'share of runs once off by over 100 times the value'
  return _comparison(rows, what, (share, None, None), answer)


def is_biased(rows: pd.DataFrame) -> claim_rules.Comparison:
  """Says whether the mean relative error is not 0, whatever the truth is.

  The truth's own 95% interval widens that of the mean. No says what holds 0 and
  is within 10% of it.
  """
  scale = np.maximum(np.abs(rows['truth'].to_numpy(float)), _TINY)
  signed = (rows['value'] - rows['truth']).to_numpy(float) / scale
  value, low, high = claim_rules.interval(signed)
  answer = claim_rules.UNDECIDED
  if low is not None:
    own = _NORMAL * float(np.mean(rows['truth_error'].to_numpy(float) / scale))
    low, high = low - own, high + own
    if low > 0.0 or high < 0.0:
      answer = claim_rules.YES
    elif -NEAR < low and high < NEAR:
      answer = claim_rules.NO
  what = 'signed relative error'
  return _comparison(rows, what, (value, low, high), answer)


def _comparison(rows, what: str, figures, answer: str):
  first = rows.iloc[0]
  if rows.groupby('method')['run'].nunique().min() < claim_rules.MIN_SEEDS:
    answer = claim_rules.FEW
  names = ' and '.join(dict.fromkeys(rows['method']))
  what = f'{names}: {what}'
  return claim_rules.Comparison(
      str(first['task']), what, len(rows), *figures, answer
  )
