"""Tests for policies that users bring."""

import os

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import seeded
from srdice_tf.policies import settings


def _specs(env_id):
  env = environments.load(env_id)
  return env.observation_spec(), env.action_spec()


def _save(env_id, path):
  policy = base.deterministic_policy(*_specs(env_id), seed=3)
  policy_saver.PolicySaver(policy).save(str(path))
  return policy


@pytest.mark.parametrize('env_id', ['Pendulum-v1', 'CartPole-v1'])
def test_saved_model_gives_the_same_actions(env_id, tmp_path):
  policy = _save(env_id, tmp_path)
  loaded = loading.load(str(tmp_path), env_id, *_specs(env_id))
  shape = (7, *policy.time_step_spec.observation.shape)
  observation = np.random.default_rng(0).normal(size=shape)
  step = ts.restart(tf.constant(observation, tf.float32), 7)
  np.testing.assert_allclose(
      loaded.action(step).action, policy.action(step).action, rtol=1e-5
  )
  assert loading.checksum(loaded) == loading.checksum(policy)
  other = base.deterministic_policy(*_specs(env_id), seed=4)
  assert loading.checksum(loaded) != loading.checksum(other)


def test_saved_model_serves_as_target_policy(tmp_path):
  _save('Pendulum-v1', tmp_path)
  loaded = loading.load(str(tmp_path), 'Pendulum-v1', *_specs('Pendulum-v1'))
  env = environments.load_batch('Pendulum-v1', 4)
  py_policy = seeded.SeededPyPolicy(settings.target_policy(loaded), 4, seed=0)
  assert py_policy.action(env.reset()).action.shape == (4, 1)


def test_mismatch_names_both_specs(tmp_path):
  _save('Pendulum-v1', tmp_path)
  with pytest.raises(errors.UserError) as error:
    loading.load(str(tmp_path), 'Hopper-v4', *_specs('Hopper-v4'))
  assert 'float32[3]' in str(error.value) and 'float32[11]' in str(error.value)
  with pytest.raises(errors.UserError, match=r'int64\[\]'):
    saved = tmp_path / 'discrete'
    _save('CartPole-v1', saved)
    observation, _ = _specs('CartPole-v1')
    loading.load(str(saved), 'X', observation, _specs('Pendulum-v1')[1])


def test_what_is_no_saved_model_is_one_line(tmp_path):
  specs = _specs('Pendulum-v1')
  with pytest.raises(errors.UserError, match='PolicySaver') as error:
    loading.load(str(tmp_path), 'Pendulum-v1', *specs)
  assert '\n' not in str(error.value)
  with pytest.raises(errors.UserError, match='no such file'):
    loading.load(os.path.join(tmp_path, 'none'), 'Pendulum-v1', *specs)


def test_untrained_weights_are_pytorchs_default():
  network = base.actor_network(*_specs('HalfCheetah-v4'))
  for variable, fan_in in zip(network.variables, [17, 17, 256, 256, 256, 256]):
    bound = 1.0 / np.sqrt(fan_in)
    assert np.abs(variable).max() <= bound
    assert np.std(variable) == pytest.approx(bound / np.sqrt(3), rel=0.5)


def test_policy_of_an_environment_without_one_names_the_command():
  specs = _specs('CartPole-v1')
  with pytest.raises(errors.UserError, match='train_policy.py --env=CartPole'):
    loading.load('pretrained', 'CartPole-v1', *specs)
