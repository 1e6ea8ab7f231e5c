"""Tests for what an evaluation says: tables, lines and the picture."""

import os
import re

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.reports import comparison
from srdice_tf.reports import figures

_RATIOS = results.RatioDiagnostics(9, 1.0, 1.0, 4.5, 0.5, 0.0, 3.0, 0.0)


def _value(value):
  return results.PolicyValue(value, 0.1, 0, 0, 0, 1, 100, 0.99, 917)


def _evaluation(*found, truth=2.0, behaviour=3.0, **fields):
  return results.Evaluation(
      {result.method: result for result in found},
      0.99,
      0,
      truth=None if truth is None else _value(truth),
      behaviour=None if truth is None else _value(behaviour),
      **fields,
  )


def _method(method, value, **fields):
  return results.MethodResult(method, value, **fields)


def _rows(text):
  """Returns the cells of each row of a table, by column."""
  header, _, *lines = text.splitlines()
  cells = lambda line: re.split(r'\s{2,}', line.strip())
  return [dict(zip(cells(header), cells(line))) for line in lines]


def _estimates(evaluations):
  return _rows(comparison.text(evaluations).split('\n\n')[0])


def test_one_seed_has_its_own_interval_and_no_deviation():
  (row,) = _estimates([_evaluation(_method('srdice', 1.5, interval=(1., 2.)))])
  assert (row['low 95%'], row['high 95%']) == ('1.000', '2.000')
  assert (row['truth'], row['+-'], row['error']) == ('2.000', '0.1000', '25.0%')


def test_a_truth_of_0_has_no_relative_error():
  (row,) = _estimates([_evaluation(_method('srdice', 1.5), truth=0.0)])
  assert row['error'] == '-' and row['log error'] != '-'


def test_means_deviations_and_students_interval_over_seeds():
  found = [_evaluation(_method('deep_td', value)) for value in (1.0, 2.0, 6.0)]
  mean, deviation = _estimates(found)
  assert mean['estimate'] == '3.000'
  # 3 -+ 4.303 sqrt(7 / 3), where n - 1 = 2.
  assert (mean['low 95%'], mean['high 95%']) == ('-3.572', '9.572')
  assert deviation['method'] == 'std over seeds'
  assert deviation['estimate'] == '2.646'  # sqrt(7), by n - 1.
  assert (deviation['truth'], deviation['+-']) == ('-', '-')


def test_methods_are_joined_by_their_name():
  found = [
      _evaluation(_method('srdice', 1.0), _method('deep_td', 5.0)),
      _evaluation(_method('deep_td', 7.0), _method('srdice', 1.0)),
      _evaluation(_method('deep_td', 9.0)),
  ]
  srdice, _, deep_td, _ = _estimates(found)
  assert srdice['method'] == 'srdice (2 of 3 seeds)'
  assert srdice['estimate'] == '1.000'
  assert (deep_td['method'], deep_td['estimate']) == ('deep_td', '7.000')


def test_a_diverged_method_says_so_and_leaves_the_others_alone():
  diverged = _method('srdice', np.nan, diverged=True)
  found = [
      _evaluation(diverged, _method('deep_td', 5.0)),
      _evaluation(_method('srdice', 1.0), _method('deep_td', 7.0)),
  ]
  srdice, _, deep_td, _ = _estimates(found)
  assert srdice['estimate'] == 'diverged' and srdice['low 95%'] == '-'
  assert deep_td['estimate'] == '6.000' and deep_td['low 95%'] != '-'


def test_ratios_have_a_table_of_their_own():
  ratio = _method(
      'srdice', 1.0, diagnostics=_RATIOS, flow_residual=0.25,
      flow_scored_on='fitted',
  )
  found = _evaluation(ratio, _method('deep_td', 5.0))
  (row,) = _rows(comparison.text([found]).split('\n\n')[1])
  assert row['density ratios'] == 'srdice'
  assert (row['mean ratio'], row['largest']) == ('1.000', '3.000')
  assert (row['flow residual'], row['scored on']) == ('0.2500', 'fitted')


def test_without_truth_there_are_no_errors():
  (row,) = _estimates([_evaluation(_method('deep_td', 5.0), truth=None)])
  assert list(row) == ['method', 'estimate', 'low 95%', 'high 95%']
  assert 'not known' in comparison.truth_lines(
      [_evaluation(_method('deep_td', 5.0), truth=None)]
  )


def test_tables_fit_a_hundred_columns():
  ratio = _method(
      'tabular_dual_dice', -123456.0, interval=(-123456.0, 123456.0),
      diagnostics=results.RatioDiagnostics(
          9, -1.23e-5, 0.98765, 4.5, 1.23e-5, 0.12345, 1.23e15, 0.0
      ),
      flow_residual=1.23e-5, flow_scored_on='held-out', seconds=12345.6,
      verdict=results.Verdict('do_not_use'),
  )
  found = [_evaluation(ratio, truth=-123456.7)] * 2
  lines = comparison.text(found, verbose=True).splitlines()
  assert max(map(len, lines)) <= 100
  assert any('seconds' in line for line in lines)


def test_what_a_method_lacks_is_no_divergence():
  found = _evaluation(
      _method('srdice', 1.0, standard_error=0.5), _method('deep_td', 1.0)
  )
  *_, rest = comparison.text([found], verbose=True).split('\n\n')
  srdice, deep_td = _rows(rest)
  assert srdice['standard error'] == '0.5000'
  assert deep_td['standard error'] == '-'


def test_lines_of_methods_and_their_trials():
  result = _method(
      'linear_srdice',
      1.0,
      lines=('linear_srdice: the data lack 3 pairs',),
      trials=tuple(
          {'features': 'random', 'flow_residual': 0.1 * i, 'estimate': 2.0 + i}
          for i in range(1, 9)
      ),
  )
  text = comparison.lines(_evaluation(result), 'runs/trials.csv')
  first, second, third, _, _, *rows = text.splitlines()
  assert first == 'linear_srdice: the data lack 3 pairs'
  assert f'{second} {third.strip()}' == (
      'linear_srdice: the best of 8 settings by flow residual; rank correlation'
      ' with the true error 1.00; all in runs/trials.csv'
  )
  assert len(rows) == 5
  assert comparison.lines(_evaluation(_method('deep_td', 1.0))) == ''


@pytest.fixture(name='drawn')
def _drawn(monkeypatch):
  """Returns what is given to the picture."""
  seen = {}
  monkeypatch.setattr(
      figures,
      'plot_curves',
      lambda *arguments, **named: seen.update(all=arguments, **named),
  )
  return seen


def _trained(method, *estimates):
  """Returns a method with these estimates on its way; none: it diverged."""
  steps = tuple(1000 * (i + 1) for i in range(len(estimates)))
  if not estimates:
    return _method(method, np.nan, diverged=True)
  last = estimates[-1]
  return _method(
      method,
      last,
      interval=(last - 1.0, last + 1.0),
      curve=results.Curve(steps, estimates),
  )


def test_curves_of_all_seeds_are_joined(drawn):
  found = [
      _evaluation(_trained('srdice', 10., 20., 30.), truth=1., behaviour=2.),
      _evaluation(_trained('srdice', 50., 60.), truth=1., behaviour=3.),
  ]
  comparison.plot(found, 'curve.png')
  path, joined, behaviour, _ = drawn['all']
  assert path == 'curve.png'
  steps, log_errors = joined['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  differences = np.array([[9.0, 19.0, 29.0], [49.0, 59.0, np.nan]])
  np.testing.assert_allclose(log_errors, np.log(0.5 * differences**2))
  # log(0.5 * 1) and log(0.5 * 4).
  assert behaviour == pytest.approx((np.log(0.5) + np.log(2.0)) / 2.0)
  steps, estimates, (low, high) = drawn['values']['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  np.testing.assert_array_equal(estimates, [30.0, 40.0, np.nan])
  # The runs end at 30 and 60: 45 -+ 12.706 sqrt(450 / 2).
  half = 12.7062 * 15.0
  assert (low, high) == pytest.approx((45.0 - half, 45.0 + half), rel=1e-5)
  assert drawn['truth'] == pytest.approx((1.0, 0.1))


def test_curves_are_joined_by_name(drawn):
  """One diverged at once in the first run, one is missing in the second."""
  found = [
      _evaluation(
          _trained('dual_dice'), _trained('srdice', 10.0), _trained('x', 90.0)
      ),
      _evaluation(_trained('srdice', 30.0), _trained('dual_dice', 70.0)),
  ]
  comparison.plot(found, 'curve.png')
  _, joined, _, _ = drawn['all']
  assert list(joined) == ['dual_dice', 'srdice', 'x']
  dual_dice = joined['dual_dice'][1]
  np.testing.assert_array_equal(np.isnan(dual_dice), [[True], [False]])
  assert joined['x'][1].shape == (1, 1)
  values = drawn['values']
  assert values['dual_dice'][2] is None
  assert np.mean(values['srdice'][2]) == pytest.approx(20.0)
  assert values['x'][2] == (89.0, 91.0)  # One run: its own.


@pytest.mark.parametrize('truth', [1.0, None])
def test_the_picture_is_written(tmp_path, truth):
  found = [
      _evaluation(
          _trained('dual_dice'), _trained('srdice', 1.0, 2.0), truth=truth
      ),
      _evaluation(
          _trained('dual_dice', 1.0, 1.0), _trained('srdice', 2.0), truth=truth
      ),
  ]
  comparison.plot(found, str(tmp_path / 'curve.png'))
  assert os.path.getsize(tmp_path / 'curve.png') > 1000


def test_the_truth_is_said_once():
  found = [_evaluation(_method('srdice', 1.0))] * 2
  text = comparison.truth_lines(found)
  assert text.count('2.00000 +- 0.10000') == 1 and 'about -5.3' in text
  assert max(map(len, text.splitlines())) <= 100


def test_the_behaviour_is_there_for_comparison():
  found = [_evaluation(behaviour=b, mean_reward=0.5) for b in (2.0, 4.0)]
  assert comparison.behaviour_lines(found) == (
      'behaviour     0.50000 mean reward of the data, 3.00000 its true value'
  )
  alone = _evaluation(truth=None, mean_reward=0.5)
  assert comparison.behaviour_lines([alone]).endswith('of the data')


def test_the_title_says_task_setting_and_seeds():
  found = _evaluation(env_id='ALE/Pong-v5', setting='noise')
  assert comparison.title([found] * 3) == (
      'ALE/Pong-v5, noise setting, 3 seeds'
  )
  assert comparison.title([_evaluation(env_id='X')]) == 'X, 1 seed'


def test_a_run_without_a_finite_estimate_is_an_error():
  good = _evaluation(_method('srdice', 1.0), _method('dual_dice', 2.0))
  bad = _evaluation(_method('srdice', 1.0), _method('dual_dice', np.inf))
  comparison.check_finite([good], 'runs')
  with pytest.raises(errors.NotFiniteError, match='of dual_dice; .* in runs'):
    comparison.check_finite([bad], 'runs')
