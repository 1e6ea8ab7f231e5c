"""The table at the end of an off-policy evaluation."""

from collections.abc import Sequence

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

  Args:
    results_by_seed: for each seed the results (experiments.ope.Result).
  """
  rows = []
  for same_method in zip(*results_by_seed):
    rows.append(_row(same_method))
    if len(same_method) > 1:
      deviations = np.std([_numbers(result) for result in same_method], axis=0)
      rows.append(['  std over seeds', *deviations, *[None] * 4])
  return tables.format_table(_COLUMNS, rows)


def _row(same_method) -> list:
  numbers = np.mean([_numbers(result) for result in same_method], axis=0)
  row = [same_method[0].method, *numbers.tolist()]
  if same_method[0].ratios is None:
    row[-5:] = [None] * 5
  return [*row, *_scores(same_method)]


def _scores(same_method) -> list:
  """Returns the flow residual, what it was scored on, and the interval."""
  residual, scored_on = None, same_method[0].flow_scored_on
  if scored_on is not None:
    residual = float(np.mean([r.flow_residual for r in same_method]))
  interval = intervals.over_seeds(
      [result.estimate for result in same_method],
      [result.interval for result in same_method],
      [result.standard_error for result in same_method],
  )
  return [residual, scored_on, *(interval or (None, None))]


def _numbers(result) -> list[float]:
  ratios = result.ratios or {}
  return [
      result.estimate,
      result.truth,
      result.truth_error,
      result.log_error,
      result.smoothed_log_error,
      result.seconds,
      ratios.get('mean', 0.0),
      ratios.get('expected_mean', 0.0),
      ratios.get('effective_share', 0.0),
      ratios.get('negative_share', 0.0),
      ratios.get('largest', 0.0),
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
