"""Verdicts on a finite MDP, whose truth is known exactly."""

import json

import numpy as np
import pytest
from tf_agents.specs import array_spec

import srdice_tf
from srdice_tf import results
from srdice_tf.environments import finite_mdps
from srdice_tf.policies import probability_tables

_STATES, _ACTIONS, _GAMMA = 20, 3, 0.9
_MDP = finite_mdps.random_mdp(_STATES, _ACTIONS, 5, seed=3)
_SPECS = (
    array_spec.BoundedArraySpec((), np.int64, 0, _STATES - 1),
    array_spec.BoundedArraySpec((), np.int64, 0, _ACTIONS - 1),
)


def _policy(*probabilities) -> np.ndarray:
  return np.tile(probabilities, (_STATES, 1))  # [S, A]


def _episodes(logged: np.ndarray, count: int = 60, length: int = 50):
  """Returns episodes of a policy [S, A] that is cut, as nothing ends."""
  rng = np.random.default_rng(0)
  draw = lambda p: (p.cumsum(-1) < rng.random((count, 1))).sum(-1)  # [E]
  states = [draw(np.tile(_MDP.start, (count, 1)))]
  taken, rewards = [], []
  for _ in range(length):
    taken.append(draw(logged[states[-1]]))
    rewards.append(_MDP.rewards[states[-1], taken[-1]])
    states.append(draw(_MDP.transition[states[-1], taken[-1]]))
  columns = (np.stack(column, 1) for column in (states, taken, rewards))
  return [srdice_tf.Episode(*each, False) for each in zip(*columns)]


def _evaluate(target, logged, algos=('linear_srdice', 'tabular_srdice')):
  return srdice_tf.evaluate(
      probability_tables.TabularPolicy(*_SPECS, target),
      _episodes(logged),
      algos,
      _GAMMA,
      hyperparameters={'tabular_missing_mass': 1.0, 'bootstrap_draws': 50},
      progress=False,
  )


def test_a_policy_that_the_data_support_is_usable():
  target = _policy(0.6, 0.3, 0.1)
  found = _evaluate(target, _policy(0.3, 0.3, 0.4))
  truth = _MDP.value(target, _GAMMA)
  for result in found.methods.values():
    assert result.value == pytest.approx(truth, rel=0.05)
    assert result.verdict.grade == results.USABLE, result.verdict.reasons
    assert result.evidence.far_share == 0.0
    assert result.evidence.mass_gap < 0.05
    assert result.sources == result.estimator.sources != ()
  content = json.loads(json.dumps(results.to_json(found)))
  assert content['grade'] == 'usable'
  assert content['recommended'] == found.recommended.method


def test_a_policy_that_does_what_nobody_did_is_not_to_be_used():
  target = _policy(0.0, 0.1, 0.9)
  found = _evaluate(target, _policy(0.5, 0.5, 0.0))
  truth = _MDP.value(target, _GAMMA)
  for result in found.methods.values():
    assert abs(result.value / truth - 1.0) > 0.1
    assert result.verdict.grade == results.DO_NOT_USE
    assert 'far from any logged one' in result.verdict.reasons[0]
    assert result.evidence.far_share == pytest.approx(0.9, abs=0.02)


def test_a_method_alone_is_unsure():
  uniform = _policy(0.4, 0.3, 0.3)
  found = _evaluate(uniform, uniform, ('linear_srdice',))
  assert found.recommended.verdict == results.Verdict(
      'unsure', ('no method trained apart from it stands beside it',)
  )
