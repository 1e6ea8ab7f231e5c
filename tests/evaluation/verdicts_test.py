"""Tests of grades, by evidence made by hand."""

import dataclasses

import pytest

from srdice_tf import results
from srdice_tf.evaluation import verdicts

_GOOD = results.EstimateEvidence(
    effective_share=0.9,
    largest_ratio=2.0,
    mass_gap=0.0,
    flow_excess=1.0,
    theorem_4_gap=0.0,
    disagreement=0.0,
    nearest_method=0.0,
    standard_error=0.001,
    drift=0.0,
    far_share=0.0,
    action_distance=1.0,
    reward_deviation=1.0,
)


def test_good_evidence_is_usable():
  found = verdicts.judge(1.0, _GOOD)
  number = len(verdicts.RULES)
  assert found == results.Verdict(
      'usable', (f'it passes all {number} tests',)
  )


@pytest.mark.parametrize('rule', verdicts.RULES, ids=lambda rule: rule.field)
def test_each_threshold_changes_the_grade(rule):
  """On either side of it, everything else being good."""
  sign = -1.0 if rule.is_share_of_good else 1.0
  assert sign * rule.unsure < sign * rule.do_not_use
  for value, grade in (
      (rule.unsure * (1.0 - 1e-6 * sign), 'usable'),
      (rule.unsure, 'unsure'),
      (rule.do_not_use * (1.0 - 1e-6 * sign), 'unsure'),
      (rule.do_not_use, 'do_not_use'),
      (float('nan'), 'do_not_use'),
  ):
    evidence = dataclasses.replace(_GOOD, **{rule.field: value})
    found = verdicts.judge(1.0, evidence)
    assert found.grade == grade, value
    if grade != 'usable':
      assert found.reasons == (rule.words.format(value=value),)


def test_rules_are_of_evidence_and_say_the_number():
  fields = {f.name for f in dataclasses.fields(results.EstimateEvidence)}
  for rule in verdicts.RULES:
    assert rule.field in fields and '{value' in rule.words


def test_the_worst_decides_and_all_reasons_are_told():
  evidence = dataclasses.replace(_GOOD, mass_gap=1e9, disagreement=None)
  found = verdicts.judge(1.0, evidence)
  assert found.grade == 'do_not_use'
  mass, alone = found.reasons
  assert 'mass' in mass and 'trained apart' in alone


def test_what_is_not_known_says_nothing_but_others_are_needed():
  known = results.EstimateEvidence(disagreement=0.0)
  assert verdicts.judge(1.0, known).grade == 'usable'
  assert verdicts.judge(1.0, results.EstimateEvidence()).grade == 'unsure'


def test_what_diverged_is_not_to_be_used():
  for value in (float('nan'), float('inf')):
    found = verdicts.judge(value, _GOOD)
    assert found == results.Verdict('do_not_use', ('it diverged',))
