"""Tests for policies that are Python functions."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import actions
from srdice_tf.policies import loading
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

_VECTORS = array_spec.ArraySpec((3,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((2,), np.float32, -2.0, 2.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 2)
_STATES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
_MODULE = """
import numpy as np

calls = []


def torques(states):
  states *= 0.5  # Its own copy.
  return states[:, :2]


def choices(states):
  return (states[:, 0] > 0).astype(int)


def chances(states):
  weights = np.exp(states)
  return weights / weights.sum(axis=1, keepdims=True)


def draws(states):
  return np.random.normal(size=(len(states), 2))


def fails(states):
  return states[:, :2] / calls[7]


def leaves(states):
  raise SystemExit(3)


def nan(states):
  return np.full((len(states), 2), np.nan)


def one(states):
  return states[0, :2]


def texts(states):
  return np.array(['left'] * len(states))


def far(states):
  return np.full(len(states), 7)


def too_much(states):
  return np.full((len(states), 3), 0.5)


def many(states):
  return np.full((len(states), 5), 0.2)


number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
  """The name of a module of the user's."""
  name = 'users_policies'
  (tmp_path / f'{name}.py').write_text(_MODULE)
  monkeypatch.syspath_prepend(str(tmp_path))
  yield name
  sys.modules.pop(name, None)


def _load(name, action_spec, **options):
  return loading.load(name, 'X', _VECTORS, action_spec, **options)


def _compiled(policy):
  """Returns actions in a graph, as roll-outs take them."""
  step = ts.restart(_STATES.copy(), 6)
  return seeded.SeededPyPolicy(policy, 6, seed=0).action(step).action


def _parameters(policy):
  view = actions.target_actions(settings.target_policy(policy, 0.0))
  compiled = tf.function(view.parameters, autograph=False)
  states = tf.constant(_STATES)
  found = compiled(states)
  np.testing.assert_array_equal(states, _STATES)
  np.testing.assert_array_equal(found, view.parameters(states))
  view.check(found)
  return found


def test_continuous_actions(module):
  policy = _load(f'{module}:torques', _TORQUES)
  np.testing.assert_array_equal(_parameters(policy), _STATES[:, :2] / 2)
  np.testing.assert_array_equal(_compiled(policy), _STATES[:, :2] / 2)


def test_discrete_actions(module):
  policy = _load(f'{module}:choices', _CHOICES)
  expected = np.eye(3)[(_STATES[:, 0] > 0).astype(int)]
  np.testing.assert_array_equal(_parameters(policy), expected)
  assert set(_compiled(policy)) <= {0, 1}


def test_probabilities(module):
  policy = _load(f'{module}:chances', _CHOICES)
  found = _parameters(policy)
  np.testing.assert_allclose(found, tf.nn.softmax(_STATES), rtol=1e-5)
  assert settings.target_policy(policy) is policy
  wider = _load(f'{module}:many', _CHOICES, bounds_known=False)
  assert wider.action_spec.maximum == 4
  assert _parameters(wider).shape == (6, 5)


@pytest.mark.parametrize(
    'name, action_spec, message',
    [
        ('draws', _TORQUES, 'other actions when it is called again'),
        ('fails', _TORQUES, 'it failed: IndexError: list index out of range.'),
        ('leaves', _TORQUES, 'it failed: SystemExit: 3.'),
        ('nan', _TORQUES, r'gave the action \[nan nan\] in 6 of 6 states'),
        ('one', _TORQUES, r'it gave float32\[2\]; expected float32\[2\] act'),
        ('texts', _TORQUES, 'it gave <U4'),
        ('texts', _CHOICES, r'expected whole numbers \[6\] or probabilities'),
        ('far', _CHOICES, 'gave the action 7 .*; expected from 0 to 2'),
        ('too_much', _CHOICES, 'in 6 of 6 states; expected probabilities'),
        ('many', _CHOICES, r'gave float64\[6, 5\]; .* probabilities \[6, 3\]'),
        ('torques', _CHOICES, r'it gave float32\[6, 2\]'),
    ],
)
def test_what_is_wrong_is_one_line(module, name, action_spec, message):
  policy = _load(f'{module}:{name}', action_spec)
  view = actions.target_actions(settings.target_policy(policy, 0.0))
  for call in (
      lambda: view.parameters(tf.constant(_STATES)),
      lambda: _compiled(policy),
  ):
    with pytest.raises(
        errors.UserCodeError, match=f'^policy={module}:{name}: .*{message}'
    ) as error:
      call()
    assert '\n' not in str(error.value)
    if name == 'fails':
      details = error.value.details
      assert details.startswith('Traceback') and 'calls[7]' in details
      assert details.endswith('IndexError: list index out of range')
      assert 'srdice_tf' not in details


def test_functions_that_are_not_there(module, tmp_path):
  for name, message in (
      ('users_policy:act', 'Python finds no module users_policy; .*PYTHONPATH'),
      (f'{module}:act', 'act is not there; expected a function in .*polic'),
      (f'{module}:number', 'number is not one'),
      ('sys:act', 'act is not there; expected a function in sys'),
  ):
    with pytest.raises(errors.UserError, match=f'^policy={name}: {message}'):
      _load(name, _TORQUES)
  (tmp_path / 'damaged_policy.py').write_text('import json\n1 / 0\n')
  with pytest.raises(errors.UserError, match='failed: ZeroDivision') as error:
    _load('damaged_policy:act', _TORQUES)
  assert '1 / 0' in error.value.details


def test_checksums_are_of_the_source(module, tmp_path):
  one = loading.checksum(_load(f'{module}:torques', _TORQUES))
  other = loading.checksum(_load(f'{module}:draws', _TORQUES))
  (tmp_path / f'{module}.py').write_text(_MODULE + '\n# Changed.\n')
  sys.modules.pop(module)
  changed = loading.checksum(_load(f'{module}:torques', _TORQUES))
  assert len({one, other, changed}) == 3
