"""Tests for the table of kinds of policies that users can name."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import actor_policy
from tf_agents.policies import policy_saver
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import action_checks
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import loading
from srdice_tf.policies import probability_tables
from srdice_tf.policies import weights
from tests.policies import models

_STATES = array_spec.BoundedArraySpec((), np.int64, 0, 2)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 1)


def test_each_kind_gives_its_policy(tmp_path):
  specs = models.specs('Pendulum-v1')
  weights.save(str(tmp_path / 'actor.npz'), base.actor_network(*specs))
  np.save(tmp_path / 'table.npy', np.full((3, 2), 0.5))
  for name, kind in (
      ('pretrained', actor_policy.ActorPolicy),
      ('pretrained:weak', actor_policy.ActorPolicy),
      ('untrained', actor_policy.ActorPolicy),
      ('random', composed.UniformPolicy),
      (str(tmp_path / 'actor.npz'), actor_policy.ActorPolicy),
  ):
    policy = loading.load(name, 'Pendulum-v1', *specs)
    assert type(policy) is kind, name
    assert action_checks.name_of(policy) == f'policy={name}'
  table = loading.load(str(tmp_path / 'table.npy'), 'X', _STATES, _CHOICES)
  assert type(table) is probability_tables.TabularPolicy


@pytest.mark.parametrize(
    'name', ['nowhere', 'untrained:weak', 'random:1', 'nowhere.npz', '']
)
def test_a_name_of_no_kind_is_told_what_there_is(name):
  with pytest.raises(errors.UserError) as error:
    loading.load(name, 'X', _STATES, _CHOICES, field='behaviour_policy')
  message = str(error.value)
  assert message.startswith(f'behaviour_policy={name}: no such file; expected')
  assert all(kind.text in message for kind in loading.KINDS)


def test_a_file_of_no_kind(tmp_path):
  (tmp_path / 'policy.zip').touch()
  with pytest.raises(errors.UserError, match='policy.zip: of no known kind;'):
    loading.load(str(tmp_path / 'policy.zip'), 'X', _STATES, _CHOICES)


def test_shipped_policies_need_an_environment():
  match = '^policy=pretrained.*: policies are shipped for environments, and non'
  for name in ('pretrained', 'pretrained:weak'):
    with pytest.raises(errors.UserError, match=match):
      loading.load(name, '', _STATES, _CHOICES)


def test_where_bounds_are_not_known_those_of_a_saved_model_count(tmp_path):
  _, action = models.tensor_specs('Pendulum-v1')
  actor = base.deterministic_policy(*models.specs('Pendulum-v1'), seed=1)
  policy_saver.PolicySaver(actor).save(str(tmp_path))
  logged = array_spec.BoundedArraySpec((1,), np.float32, -0.5, 1.25, 'action')
  specs = models.specs('Pendulum-v1')[0], logged
  match = "from -2.0 to 2.0, the data's are float32.* from -0.5 to 1.25"
  with pytest.raises(errors.UserError, match=match):
    loading.load(str(tmp_path), '', *specs)
  policy = loading.load(str(tmp_path), '', *specs, bounds_known=False)
  assert policy.action_spec == action
  step = ts.restart(tf.random.stateless_normal([50, 3], [1, 2]) * 9, 50)
  expected = actor.action(step).action
  assert np.max(expected) > 1.25 or np.min(expected) < -0.5
  np.testing.assert_allclose(policy.action(step).action, expected, rtol=1e-5)
  # The shape is known from data too.
  wider = array_spec.BoundedArraySpec((2,), np.float32, -1.0, 1.0)
  match = r"float32\[1\] from .*the data's are float32\[2\]"
  with pytest.raises(errors.UserError, match=match):
    loading.load(str(tmp_path), '', specs[0], wider, bounds_known=False)


def test_where_bounds_are_not_known_there_may_be_more_actions(tmp_path):
  choices = models.Choices(*models.tensor_specs('GridWalk'))
  policy_saver.PolicySaver(choices).save(str(tmp_path / 'model'))
  np.save(tmp_path / 'table.npy', np.full((100, 4), 0.25))
  for name in ('model', 'table.npy'):
    path = str(tmp_path / name)
    with pytest.raises(errors.UserError):
      loading.load(path, '', _STATES, _CHOICES)
    policy = loading.load(path, '', _STATES, _CHOICES, bounds_known=False)
    assert policy.action_spec.maximum == 3
    assert policy.time_step_spec.observation.maximum == 99
    more = array_spec.BoundedArraySpec((), np.int64, 0, 6)
    with pytest.raises(errors.UserError, match=path):
      loading.load(path, '', _STATES, more, bounds_known=False)


def test_weights_without_bounds_have_no_scale(tmp_path):
  specs = models.specs('Pendulum-v1')
  path = str(tmp_path / 'actor.npz')
  weights.save(path, base.actor_network(*specs))
  with pytest.raises(errors.UserError, match='scaled to their bounds, which'):
    loading.load(path, '', *specs, bounds_known=False)
