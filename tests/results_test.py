"""Tests for results and their JSON."""

import dataclasses
import json

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf import results
from tests import source_tree

TRUTH = results.PolicyValue(2.0, 0.1, 0, 0, 0, 1, 100, 0.99, 917)
_SRDICE = results.MethodResult(
    'srdice',
    1.5,
    seconds=4.0,
    phase_seconds={'successor': 3.0, 'srdice': 1.0},
    interval=(1.0, 2.0),
    standard_error=0.25,
    diagnostics=results.RatioDiagnostics(9, 1.0, None, 4.5, 0.5, 0.0, 3.0, 0.0),
    flow_residual=0.01,
    flow_scored_on='fitted',
    details={'closed_form': 1.25},
    lines=('closed form 1.25',),
    trials=({'features': 'random', 'estimate': 1.0},),
    curve=results.Curve((1000, 2000), (1.0, 1.5)),
    evidence=results.EstimateEvidence(effective_share=0.5, mass_gap=0.25),
    verdict=results.Verdict('unsure', ('the mass is off', 'few data')),
    ratios=np.ones(9),
    estimator=object(),
)
_EVALUATION = results.Evaluation(
    {'srdice': _SRDICE, 'deep_td': results.MethodResult('deep_td', 2.5)},
    gamma=0.99,
    seed=3,
    env_id='Hopper-v4',
    setting='hard',
    num_transitions=9,
    num_episodes=2,
    mean_reward=np.float32(0.5),
    truth=TRUTH,
)


def _written(evaluation=_EVALUATION) -> dict:
  return json.loads(json.dumps(results.to_json(evaluation)))


def test_json_and_back():
  found = results.from_json(_written(), 'result.json', 'remove it')
  assert found == _EVALUATION
  assert found['srdice'].curve.estimates == (1.0, 1.5)
  assert found['srdice'].ratios is None and found['srdice'].estimator is None
  assert found.truth == TRUTH and found.behaviour is None
  assert found['srdice'].verdict.reasons == ('the mass is off', 'few data')


def test_the_grade_of_the_recommended_method_stands_at_the_top():
  content = _written()
  assert (content['recommended'], content['grade']) == ('srdice', 'unsure')


def test_results_of_before_have_neither_phases_nor_verdicts():
  content = _written()
  for method in content['methods']:
    for name in ('phase_seconds', 'evidence', 'verdict'):
      del method[name]
  for name in ('recommended', 'grade', 'checksum'):
    content.pop(name)
  content['checksum'] = results._checksum(content)
  found = results.from_json(content, 'result.json', 'remove it')
  assert found['srdice'].seconds == 4.0
  assert found['srdice'].phase_seconds == {}
  assert found['srdice'].evidence is None and found.recommended is None


def test_numbers_that_are_not_finite_survive():
  diverged = results.MethodResult('srdice', float('nan'), diverged=True)
  evaluation = dataclasses.replace(_EVALUATION, methods={'srdice': diverged})
  found = results.from_json(_written(evaluation), 'result.json', 'remove it')
  assert np.isnan(found['srdice'].value) and found['srdice'].diverged


def _edited(change):
  content = _written()
  change(content)
  return content


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ({}, 'has the version None, expected 1'),
        (_edited(lambda c: c.update(version=0)), 'has the version 0'),
        (_edited(lambda c: c.pop('checksum')), 'was cut short or edited'),
        (_edited(lambda c: c.pop('truth')), 'was cut short or edited'),
        (
            _edited(lambda c: c['methods'][0].update(value=1.51)),
            'was cut short or edited',
        ),
    ],
)
def test_what_is_damaged_is_one_line(content, message):
  with pytest.raises(errors.UserError) as error:
    results.from_json(content, 'result.json', 'remove it')
  assert str(error.value).startswith(f'result.json: {message}')
  assert str(error.value).endswith('; remove it.')


def test_results_need_no_tensorflow():
  for path in source_tree.closure('srdice_tf/results.py'):
    assert 'tensorflow' not in source_tree.third_party(path)
