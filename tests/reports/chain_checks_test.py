"""Tests for the paper's claims about the five-state chain."""

import pandas as pd

from srdice_tf.reports import claim_rules
from tests.reports import claim_evidence

_NOISE, _verdict = claim_evidence.NOISE, claim_evidence.verdict


def test_the_chain():
  rows = [
      {'features': features, 'method': method, 'step': step,
       **{str(t): error + _NOISE[t] for t in range(4)}}
      for features in ('tabular', 'inverted', 'dependent')
      for method, error in (
          ('srdice', -9.0), ('dual_dice', -8.0), ('gradient_dice', -8.5)
      )
      for step in (100, 200)
  ]
  chain = pd.DataFrame(rows)
  assert _verdict('chain', chain=chain) == claim_rules.CONFIRMED
  assert _verdict('chain_dependent', chain=chain) == claim_rules.REFUTED


def _chain(**first):
  """Returns curves of 12 evaluations that are right from one of them on."""
  return pd.DataFrame([
      {'features': features, 'method': method, 'step': 100 * (k + 1),
       **{str(t): (-9.0 if k >= start else 0.0) + _NOISE[t] for t in range(4)}}
      for features in ('tabular', 'inverted', 'dependent')
      for method, start in first.items()
      for k in range(12)
  ])


def test_who_still_learns():
  make = lambda last: pd.DataFrame([
      {'features': features, 'method': 'gradient_dice', 'step': 100 * (k + 1),
       **{str(t): (last if k >= 18 else -4.0) + 0.1 * _NOISE[t] * (k >= 18)
          for t in range(4)}}
      for features in ('tabular', 'inverted', 'dependent')
      for k in range(20)
  ])
  verdict = lambda last: _verdict('chain_improving', chain=make(last))
  assert verdict(-4.5) == claim_rules.CONFIRMED
  assert verdict(-3.5) == claim_rules.REFUTED
  assert verdict(-4.0) == claim_rules.OPEN


def test_who_learns_faster_on_the_chain():
  good = _chain(srdice=0, dual_dice=1, gradient_dice=2)
  assert _verdict('chain_fast', chain=good) == claim_rules.CONFIRMED
  found = claim_evidence.judged(
      'chain_fast', desk=claim_rules.Evidence(pd.DataFrame(), {'chain': good})
  )
  assert found.table.rows[0][1] == 'log updates: SR-DICE − DualDICE'
  late = _chain(srdice=1, dual_dice=1, gradient_dice=2)
  assert _verdict('chain_fast', chain=late) == claim_rules.OPEN
  last = _chain(srdice=2, dual_dice=1, gradient_dice=0)
  assert _verdict('chain_fast', chain=last) == claim_rules.REFUTED
  # Dependent features do not count.
  is_dependent = lambda rows: rows['features'] == 'dependent'
  mixed = [good[~is_dependent(good)], last[is_dependent(last)]]
  mixed = pd.concat(mixed, ignore_index=True)
  assert _verdict('chain_fast', chain=mixed) == claim_rules.CONFIRMED
  # A higher final level that is soon reached is no slower learning.
  worse = good.copy()
  is_sr = worse['method'] == 'srdice'
  worse.loc[is_sr, list('0123')] += 5.0
  assert _verdict('chain_fast', chain=worse) == claim_rules.CONFIRMED
