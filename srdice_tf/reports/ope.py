"""The table at the end of an off-policy evaluation."""

from collections.abc import Sequence
import itertools

import numpy as np

from srdice_tf.evaluation import intervals
from srdice_tf.reports import tables

_COLUMNS = (
    'method',
    'estimate',
    'truth',
    '+-',
    'log error',
    'last 10',
    'seconds',
    'mean ratio',
    'should be',
    'ESS share',
    'negative',
    'largest',
    'flow',
    'scored on',
    'low 95%',
    'high 95%',
)


def results_table(results_by_seed: Sequence[Sequence]) -> str:
  """Returns the table; with several seeds, means and deviations of them.

  The interval is that of the mean, from the spread over the seeds; of a single
  run its own.

  Args:
    results_by_seed: for each seed the results (experiments.ope.Result); a
      method that a seed lacks says how many have it.
  """
  by_method = {}
  for result in itertools.chain.from_iterable(results_by_seed):
    by_method.setdefault(result.method, []).append(result)
  rows = []
  for name, same_method in by_method.items():
    if len(same_method) < len(results_by_seed):
      name += f' ({len(same_method)} of {len(results_by_seed)} seeds)'
    numbers = [_numbers(result) for result in same_method]
    rows.append([name, *_columns(np.mean, numbers), *_scores(same_method)])
    if len(same_method) > 1:
      deviations = _columns(tables.deviation, numbers)
      rows.append(['  std over seeds', *deviations, *[None] * 4])
  return tables.format_table(_COLUMNS, rows)


def _columns(function, numbers) -> list[float | None]:
  """Returns the function of each column; None where there are no numbers."""
  return [
      None if None in column else float(function(column))
      for column in zip(*numbers)
  ]


def _scores(same_method) -> list:
  """Returns the flow residual, what it was scored on, and the interval."""
  residual, scored_on = None, same_method[0].flow_scored_on
  if scored_on is not None:
    residual = float(np.mean([r.flow_residual for r in same_method]))
  interval = intervals.over_seeds(
      [result.estimate for result in same_method],
      [result.interval for result in same_method],
  )
  return [residual, scored_on, *(interval or (None, None))]


def _numbers(result) -> list[float | None]:
  ratios = result.ratios or {}
  return [
      result.estimate,
      result.truth,
      result.truth_error,
      result.log_error,
      result.smoothed_log_error,
      result.seconds,
      ratios.get('mean'),
      ratios.get('expected_mean'),
      ratios.get('effective_share'),
      ratios.get('negative_share'),
      ratios.get('largest'),
  ]


def details_lines(results: Sequence) -> str:
  """Returns what theorems 2 and 4 say is equal, and what the data lack."""
  lines = []
  for result in results:
    if 'closed_form' in result.details:
      details = result.details
      lines.append(
          f'{result.method}: closed form {details["closed_form"]:.6f},'
          f' least-squares Deep SR {details["least_squares_deep_sr"]:.6f}'
          f' (theorem 4: equal; difference'
          f' {details["theorem_4_difference"]:.1e})'
      )
    if 'theorem_2_difference' in result.details:
      details = result.details
      lines.append(
          f'{result.method}: ratios {result.estimate:.6f}, the SR itself'
          f' {details["direct_sr"]:.6f} (theorem 2: equal; difference'
          f' {details["theorem_2_difference"]:.1e})'
      )
    if result.details.get('missing_pairs'):
      lines.append(
          f'{result.method}: the data lack {result.details["missing_pairs"]}'
          ' pairs (s, a) that the target policy visits, with'
          f' {result.details["missing_mass"]:.2e} of the mass of d_pi'
      )
  return '\n'.join(lines)
