"""Tests for the table of kinds of policies that users can name."""

import numpy as np
import pytest
from tf_agents.policies import actor_policy
from tf_agents.specs import array_spec

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
