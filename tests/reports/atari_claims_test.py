"""Tests for the paper's claims about Atari."""

import pytest

from srdice_tf.reports import aggregates
from srdice_tf.reports import claim_rules
from tests.reports import claim_evidence

_verdict = claim_evidence.verdict


def test_alike_on_games():
  make = lambda **errors: claim_evidence.runs(
      'atari_main', claim_evidence.GOOD | errors, 'AB'
  )
  assert _verdict('atari_alike', make(deep_td=-6.2)) == claim_rules.CONFIRMED
  # Both are within 1 of SR-DICE's -6, and 1.8 apart.
  far = make(deep_td=-6.7, deep_sr=-4.9, srdice=-5.8)
  assert _verdict('atari_alike', far) == claim_rules.REFUTED


def _games(values, truth=2.0, **columns):
  """Returns runs of all methods on two games that have these values."""
  runs = claim_evidence.runs('atari_main', claim_evidence.GOOD, 'AB')
  values = [values[int(run)] for run in runs['run']]
  columns = {'truth': truth, 'truth_error': 0.01, 'diverged': False} | columns
  return runs.assign(value=values, **columns).assign(
      worst_error=lambda rows: (rows['value'] - truth).abs() / abs(truth)
  )


def test_errors_of_many_orders_of_magnitude():
  far, near = 2.0 * 102.0, 2.0 * 100.0  # 101 and 99 times the truth of 2.
  verdict = lambda *values, **columns: _verdict(
      'atari_far', _games(values, **columns)
  )
  assert verdict(far, -far, near, near) == claim_rules.CONFIRMED
  assert verdict(far, near, near, near) == claim_rules.REFUTED
  assert verdict(near, near, near, near, diverged=True) == claim_rules.CONFIRMED
  # Of both methods together half are enough: one is far off, one never is.
  both = _games([near] * 4)
  is_far = both['method'] == 'gradient_dice'
  both.loc[is_far, 'worst_error'] = 101.0
  assert _verdict('atari_far', both) == claim_rules.CONFIRMED
  both.loc[is_far & (both['run'] == '3'), 'worst_error'] = 99.0
  assert _verdict('atari_far', both) == claim_rules.REFUTED
  # Three seeds of each method are needed, and both methods.
  both = _games([far] * 4)
  for is_left in (both['run'] < '2', both['method'] == 'gradient_dice'):
    assert _verdict('atari_far', both[is_left]) == claim_rules.OPEN
  one = _games([far] * 4)
  assert _verdict('atari_far', one[one['task'] == 'A']) == claim_rules.OPEN


def test_bias_on_games():
  verdict = lambda *values, **columns: _verdict(
      'atari_biased', _games(values, **columns)
  )
  # Of 2: 20 to 40% too low; then about right; then anything.
  assert verdict(1.4, 1.5, 1.3, 1.4) == claim_rules.CONFIRMED
  assert verdict(2.0, 2.02, 1.98, 2.01) == claim_rules.REFUTED
  assert verdict(2.0, 1.0, 3.5, 2.0) == claim_rules.OPEN
  # SR-DICE is none of the deep RL methods.
  mixed = _games([1.4, 1.5, 1.3, 1.4])
  mixed.loc[mixed['method'] == 'srdice', 'value'] = 2.0
  assert _verdict('atari_biased', mixed) == claim_rules.CONFIRMED
  # 30% too low is nothing if the truth is known by 40%.
  assert verdict(1.4, 1.5, 1.3, 1.4, truth_error=0.8) == claim_rules.OPEN


@pytest.mark.parametrize('kind', ['main', 'noise', 'separate'])
def test_games(kind):
  name = 'atari_mis' if kind == 'main' else f'atari_{kind}_mis'
  make = lambda tasks, **errors: claim_evidence.runs(
      f'atari_{kind}', claim_evidence.GOOD | errors, tasks,
      behaviour_log_error=-9.0,
  )
  both, one = make('AB'), make('A')
  assert _verdict(name, both) == claim_rules.CONFIRMED
  # Only Pong has a second agent.
  enough = kind == 'separate'
  expected = claim_rules.CONFIRMED if enough else claim_rules.OPEN
  assert _verdict(name, one) == expected
  lost = make('B', gradient_dice=-9.0)
  assert _verdict(name, one, lost) == claim_rules.REFUTED
  if kind == 'separate':
    return
  name = name.replace('mis', 'behaviour')
  assert _verdict(name, both) == claim_rules.CONFIRMED
  assert _verdict(name, make('AB', deep_td=-12.0)) == claim_rules.REFUTED
  swings = both.assign(log_swing=both[aggregates.ERROR], diverged=False)
  assert _verdict('atari_stable', swings) == (
      claim_rules.CONFIRMED if kind == 'main' else claim_rules.OPEN
  )
