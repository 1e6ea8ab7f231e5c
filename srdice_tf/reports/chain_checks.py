"""What is compared for the paper's claims about the five-state chain.

Each function here returns one that takes the evidence and gives the finding.
"""

from collections.abc import Callable
from collections.abc import Sequence
import functools

import numpy as np
import pandas as pd

from srdice_tf.reports import claim_checks
from srdice_tf.reports import claim_rules

_LAST = 10  # Evaluations that count as the end.


def on_chain(
    features: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> claim_checks.Decide:
  """Compares log MSEs of ratios at the end of training on the chain."""

  def decide(evidence):
    chain = evidence.tables.get('chain')
    if chain is None:
      return claim_rules.Finding()
    errors = _over_trials(chain, lambda rows: rows[-_LAST:].mean())
    return _compared_on_chain(errors, features, pairs, 'log MSE')

  return decide


def still_improves(method: str, features: Sequence[str]) -> claim_checks.Decide:
  """Compares log MSEs on the chain of the last two tenths of the updates."""

  def tenth(number, rows):
    size = max(len(rows) // 10, 1)
    return rows.iloc[len(rows) - number * size :][:size].mean()

  def decide(evidence):
    chain = evidence.tables.get('chain')
    if chain is None or method not in set(chain['method']):
      return claim_rules.Finding()
    pair = f'{method}, last tenth', f'{method}, the tenth before'
    numbers = pd.DataFrame({
        name: _over_trials(chain, functools.partial(tenth, k))[method]
        for k, name in enumerate(pair, 1)
    })
    return _compared_on_chain(numbers, features, [pair], 'log MSE')

  return decide


def learns_faster(
    features: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> claim_checks.Decide:
  """Compares after how many updates on the chain ratios are about right.

  That is, their log MSE is within 1 of the worst final one of all methods,
  which all reach. The logarithm of the updates is compared.
  """

  def decide(evidence):
    chain = evidence.tables.get('chain')
    if chain is None:
      return claim_rules.Finding()
    last = _over_trials(chain, lambda rows: rows[-_LAST:].mean())
    finals = last.groupby(level=0).mean().max(axis=1)  # [features]

    def first(rows):
      level = finals[chain.loc[rows.index[0], 'features']]
      is_there = rows <= level + claim_rules.TOLERANCE
      found = chain.loc[is_there.idxmax(), 'step']
      return np.log(found.where(is_there.any().to_numpy()).to_numpy())

    updates = _over_trials(chain, first)
    return _compared_on_chain(updates, features, pairs, 'log updates')

  return decide


def _over_trials(chain: pd.DataFrame, of: Callable) -> pd.DataFrame:
  """Returns a number by features and trial, with a column for each method."""
  trials = [c for c in chain.columns if c.isdigit()]
  found = {
      key: pd.Series(of(rows[trials]), trials)
      for key, rows in chain.groupby(['features', 'method'])
  }
  return pd.DataFrame(found).T.stack().unstack(1)


def _compared_on_chain(
    numbers, features, pairs, of: str
) -> claim_rules.Finding:
  numbers = numbers[numbers.index.get_level_values(0).isin(features)]
  found = []
  for lower, higher in pairs:
    found += claim_rules.compare(numbers, lower, higher, of)
  return claim_rules.on_every_task(found, len(features), len(pairs))
