"""Tests for the table of an evaluation over seeds."""

import numpy as np

from srdice_tf.experiments import ope
from srdice_tf.reports import ope as report

_RATIOS = {
    'mean': 1.0,
    'expected_mean': 1.0,
    'effective_share': 0.5,
    'negative_share': 0.0,
    'largest': 3.0,
}


def _result(method, estimate, **fields):
  defaults = dict(
      method=method,
      estimate=estimate,
      truth=2.0,
      truth_error=0.1,
      log_error=-3.0,
      smoothed_log_error=-3.5,
      seconds=4.0,
      diverged=False,
      details={},
      ratios=None,
  )
  return ope.Result(**{**defaults, **fields})


def _rows(results_by_seed):
  """Returns the cells of each row after the name, by the name."""
  header, rule, *lines = report.results_table(results_by_seed).splitlines()
  starts = [0] + [i + 1 for i, c in enumerate(rule) if c == ' ']
  starts = [i for i in starts if rule[i] == '-']
  ends = [*starts[1:], None]
  cut = lambda line: [line[a:b].strip() for a, b in zip(starts, ends)]
  names = cut(header)
  return [dict(zip(names, cut(line))) for line in lines]


def test_one_seed_has_its_own_interval_and_no_deviation():
  (row,) = _rows([[_result('srdice', 1.5, interval=(1.0, 2.0))]])
  assert (row['low 95%'], row['high 95%']) == ('1.000', '2.000')


def test_means_deviations_and_students_interval_over_seeds():
  by_seed = [
      [_result('deep_td', 1.0)],
      [_result('deep_td', 2.0)],
      [_result('deep_td', 6.0)],
  ]
  mean, deviation = _rows(by_seed)
  assert (mean['estimate'], mean['mean ratio']) == ('3.000', '-')
  # 3 -+ 4.303 sqrt(7 / 3), where n - 1 = 2.
  assert (mean['low 95%'], mean['high 95%']) == ('-3.572', '9.572')
  assert deviation['method'] == 'std over seeds'
  assert deviation['estimate'] == '2.646'  # sqrt(7), by n - 1.
  assert deviation['mean ratio'] == '-'


def test_methods_are_joined_by_their_name():
  by_seed = [
      [_result('srdice', 1.0, ratios=_RATIOS), _result('deep_td', 5.0)],
      [_result('deep_td', 7.0), _result('srdice', 1.0, ratios=_RATIOS)],
      [_result('deep_td', 9.0)],
  ]
  srdice, _, deep_td, _ = _rows(by_seed)
  assert srdice['method'] == 'srdice (2 of 3 seeds)'
  assert (srdice['estimate'], srdice['mean ratio']) == ('1.000', '1.000')
  assert (deep_td['method'], deep_td['estimate']) == ('deep_td', '7.000')


def test_a_diverged_method_says_so_and_leaves_the_others_alone():
  diverged = _result('srdice', np.nan, diverged=True, ratios=_RATIOS)
  by_seed = [
      [diverged, _result('deep_td', 5.0)],
      [_result('srdice', 1.0, ratios=_RATIOS), _result('deep_td', 7.0)],
  ]
  srdice, _, deep_td, _ = _rows(by_seed)
  assert srdice['estimate'] == 'diverged' and srdice['low 95%'] == '-'
  assert deep_td['estimate'] == '6.000' and deep_td['low 95%'] != '-'
