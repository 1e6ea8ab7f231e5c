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


@pytest.mark.parametrize('kind', ['main', 'noise'])
def test_games(kind):
  name = 'atari_mis' if kind == 'main' else 'atari_noise_mis'
  make = lambda tasks, **errors: claim_evidence.runs(
      f'atari_{kind}', claim_evidence.GOOD | errors, tasks,
      behaviour_log_error=-9.0,
  )
  both, one = make('AB'), make('A')
  assert _verdict(name, both) == claim_rules.CONFIRMED
  assert _verdict(name, one) == claim_rules.OPEN
  lost = make('B', gradient_dice=-9.0)
  assert _verdict(name, one, lost) == claim_rules.REFUTED
  name = name.replace('mis', 'behaviour')
  assert _verdict(name, both) == claim_rules.CONFIRMED
  assert _verdict(name, make('AB', deep_td=-12.0)) == claim_rules.REFUTED
  swings = both.assign(log_swing=both[aggregates.ERROR], diverged=False)
  assert _verdict('atari_stable', swings) == (
      claim_rules.CONFIRMED if kind == 'main' else claim_rules.OPEN
  )
