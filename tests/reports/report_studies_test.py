"""Tests of the table of random rewards, by hand."""

import pandas as pd

from srdice_tf.reports import report_studies

_ERRORS = {
    'srdice': [-5.0, -1.0, -4.0, -3.0],
    'srdice_closed': [-9.0, -9.0, -1.0, -1.0],
    'dual_dice': [-1.0, -2.0, -1.0, -1.0],
    'gradient_dice': [-2.0, -1.5, -2.0, -3.5],
    'behaviour': [-1.0, -1.0, -8.0, -1.0],
}


def _shares(methods):
  """Returns the shares on which a method is the best, by its label."""
  rows = [
      {'env': 'A', 'seed': 0, 'reward': k, 'method': method, 'log_mse': error}
      for method in methods
      for k, error in enumerate(_ERRORS[method])
  ]
  table = report_studies.of_rewards(pd.DataFrame(rows), 'x').table
  best, of_three = map(table.columns.index, ('best on %', '% of the three'))
  return {row[1]: (row[best], row[of_three]) for row in table.rows}


def test_shares_are_those_of_all_and_of_the_papers_three():
  found = _shares(_ERRORS)
  assert found['SR-DICE'] == (0.0, 50.0)
  assert found['SR-DICE, closed form'] == (50.0, None)
  assert found['DualDICE'] == (0.0, 25.0)
  assert found['GradientDICE'] == (25.0, 25.0)
  assert found['ratio 1 (behaviour)'] == (25.0, None)


def test_there_is_no_share_of_three_if_one_is_missing():
  found = _shares(['srdice', 'dual_dice', 'behaviour'])
  assert {of_three for _, of_three in found.values()} == {None}
