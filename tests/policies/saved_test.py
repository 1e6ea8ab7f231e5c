"""Tests for policies that users bring."""

import os
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.networks import actor_distribution_rnn_network
from tf_agents.policies import actor_policy
from tf_agents.policies import policy_saver
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import seeded
from srdice_tf.policies import settings
from tests.policies import models

tfd = tfp.distributions


def _save(env_id, path):
  policy = base.deterministic_policy(*models.specs(env_id), seed=3)
  policy_saver.PolicySaver(policy).save(str(path))
  return policy


@pytest.mark.parametrize('env_id', ['Pendulum-v1', 'CartPole-v1'])
def test_saved_model_gives_the_same_actions(env_id, tmp_path):
  policy = _save(env_id, tmp_path)
  loaded = loading.load(str(tmp_path), env_id, *models.specs(env_id))
  shape = (7, *policy.time_step_spec.observation.shape)
  observation = np.random.default_rng(0).normal(size=shape)
  step = ts.restart(tf.constant(observation, tf.float32), 7)
  np.testing.assert_allclose(
      loaded.action(step).action, policy.action(step).action, rtol=1e-5
  )


def test_saved_model_serves_as_target_policy(tmp_path):
  _save('Pendulum-v1', tmp_path)
  loaded = models.load(tmp_path, 'Pendulum-v1')
  env = environments.load_batch('Pendulum-v1', 4)
  py_policy = seeded.SeededPyPolicy(settings.target_policy(loaded), 4, seed=0)
  assert py_policy.action(env.reset()).action.shape == (4, 1)


def test_mismatch_names_both_specs(tmp_path):
  _save('Pendulum-v1', tmp_path)
  with pytest.raises(errors.UserError) as error:
    loading.load(str(tmp_path), 'Hopper-v4', *models.specs('Hopper-v4'))
  assert 'float32[3]' in str(error.value) and 'float32[11]' in str(error.value)
  with pytest.raises(errors.UserError, match=r'int64\[\]'):
    saved = tmp_path / 'discrete'
    _save('CartPole-v1', saved)
    observation, _ = models.specs('CartPole-v1')
    loading.load(str(saved), 'X', observation, models.specs('Pendulum-v1')[1])


def test_what_is_no_saved_model_is_one_line(tmp_path):
  specs = models.specs('Pendulum-v1')
  with pytest.raises(errors.UserError, match='PolicySaver') as error:
    loading.load(str(tmp_path), 'Pendulum-v1', *specs)
  assert '\n' not in str(error.value)
  with pytest.raises(errors.UserError, match='no such file'):
    loading.load(os.path.join(tmp_path, 'none'), 'Pendulum-v1', *specs)


def test_untrained_weights_are_pytorchs_default():
  network = base.actor_network(*models.specs('HalfCheetah-v4'))
  for variable, fan_in in zip(network.variables, [17, 17, 256, 256, 256, 256]):
    bound = 1.0 / np.sqrt(fan_in)
    assert np.abs(variable).max() <= bound
    assert np.std(variable) == pytest.approx(bound / np.sqrt(3), rel=0.5)


def test_policy_of_an_environment_without_one_names_the_command():
  specs = models.specs('CartPole-v1')
  with pytest.raises(errors.UserError, match='env=CartPole.*train_policy.py'):
    loading.load('pretrained', 'CartPole-v1', *specs)


def test_rnn_policies_are_refused(tmp_path):
  time_step_spec, action_spec = models.tensor_specs('Pendulum-v1')
  network = actor_distribution_rnn_network.ActorDistributionRnnNetwork(
      time_step_spec.observation,
      action_spec,
      input_fc_layer_params=(4,),
      output_fc_layer_params=None,
      lstm_size=(4,),
  )
  policy = actor_policy.ActorPolicy(time_step_spec, action_spec, network)
  policy_saver.PolicySaver(policy).save(str(tmp_path))
  with pytest.raises(errors.UserError, match='keeps a state .*RNN'):
    models.load(tmp_path, 'Pendulum-v1')


def test_checksums_are_of_what_acts(tmp_path):
  """Same variables, opposite actions."""
  weight = tf.Variable([[0.5], [0.1], [0.2]])

  class Linear(models.Function):

    def __init__(self, sign):
      super().__init__('Pendulum-v1', lambda x: sign * tf.matmul(x, weight))
      self.weight = weight

  one, other = (
      models.save_and_load(Linear(sign), tmp_path / str(sign), 'Pendulum-v1')
      for sign in (1.0, -1.0)
  )
  np.testing.assert_array_equal(one.variables()[0], other.variables()[0])
  assert loading.checksum(one) != loading.checksum(other)
  shutil.copytree(tmp_path / '1.0', tmp_path / 'copy')
  os.remove(tmp_path / 'copy' / 'fingerprint.pb')
  copied = models.load(tmp_path / 'copy', 'Pendulum-v1')
  assert loading.checksum(one) == loading.checksum(copied)


def test_models_of_other_mdps_are_refused(tmp_path):
  policy_saver.PolicySaver(models.Choices(*models.tensor_specs('GridWalk'))).save(
      str(tmp_path)
  )
  with pytest.raises(errors.UserError, match='int64.. from 0 to 99,.*0 to 4'):
    models.load(tmp_path, 'RandomMDP-5-4-2-0')
  with pytest.raises(errors.UserError, match='actions.*0 to 3,.*0 to 1'):
    models.load(tmp_path, 'RandomMDP-100-2-2-0')
  torques = tmp_path / 'torques'
  time_step_spec, action_spec = models.tensor_specs('Pendulum-v1')
  scaled = type(action_spec)([1], tf.float32, -1.0, 1.0, 'action')
  policy = models.Function('', lambda x: x[:, :1], (time_step_spec, scaled))
  policy_saver.PolicySaver(policy).save(str(torques))
  with pytest.raises(errors.UserError, match='-1.0 to 1.0,.*-2.0 to 2.0'):
    models.load(torques, 'Pendulum-v1')


def test_models_without_bounds_act_in_each_state(tmp_path):
  time_step_spec, _ = models.tensor_specs('RandomMDP-5-4-2-0')
  unbounded = tf.TensorSpec([], tf.int64, 'action')
  specs = (time_step_spec, unbounded)
  for i, (function, message) in enumerate((
      (lambda x: x, 'the action 4; expected from 0 to 3'),
      (lambda x: tf.gather(tf.zeros([3], tf.int64), x), 'cannot be called'),
  )):
    path = tmp_path / str(i)
    policy = models.Function('', function, specs)
    policy_saver.PolicySaver(policy).save(str(path))
    with pytest.raises(errors.UserError, match=message):
      models.load(path, 'RandomMDP-5-4-2-0')


def test_models_for_other_calls_are_refused(tmp_path):
  policy = base.deterministic_policy(*models.specs('Pendulum-v1'))
  policy_saver.PolicySaver(policy, batch_size=3).save(str(tmp_path))
  with pytest.raises(errors.UserError, match='for batches of any size') as e:
    models.load(tmp_path, 'Pendulum-v1')
  assert '\n' not in str(e.value)


def test_damaged_models_are_one_line(tmp_path):
  whole = tmp_path / 'whole'
  policy = base.deterministic_policy(*models.specs('Pendulum-v1'))
  policy_saver.PolicySaver(policy).save(str(whole))
  for i, (name, damage) in enumerate((
      ('policy_specs.pbtxt', lambda content: b''),
      ('policy_specs.pbtxt', lambda content: b'garbage'),
      ('policy_specs.pbtxt', lambda content: content[:200]),
      ('saved_model.pb', lambda content: b''),
      ('saved_model.pb', lambda content: b'garbage' * 9),
      ('saved_model.pb', lambda content: content[: len(content) // 2]),
      ('variables/variables.index', lambda content: content[:50]),
      (
          'variables/variables.data-00000-of-00001',
          lambda content: content[: len(content) // 2],
      ),
      (
          'variables/variables.data-00000-of-00001',
          lambda content: content[:5000] + b'flipped' + content[5007:],
      ),
  )):
    path = tmp_path / str(i)
    shutil.copytree(whole, path)
    content = (path / name).read_bytes()
    (path / name).write_bytes(damage(content))
    with pytest.raises(errors.UserError, match=f'{path}: not a SavedM') as e:
      models.load(path, 'Pendulum-v1')
    assert '\n' not in str(e.value)


def _first_actions(policy, env_id):
  env = environments.load_batch(env_id, 4)
  return seeded.SeededPyPolicy(policy, 4, seed=0).action(env.reset()).action


def test_nan_actions_are_refused(tmp_path):
  policy = models.save_and_load(
      models.Function('Pendulum-v1', lambda x: x[:, :1] * float('nan')),
      tmp_path,
      'Pendulum-v1',
  )
  for wrapped in (
      policy,
      settings.target_policy(policy),
      settings.behaviour_policy(policy, settings.CONTINUOUS['easy']),
  ):
    with pytest.raises(
        errors.UserCodeError,
        match=f'^policy={tmp_path}: gave the action .nan. in 4 of 4 states',
    ):
      _first_actions(wrapped, 'Pendulum-v1')


def test_actions_out_of_the_range_are_refused(tmp_path):
  time_step_spec, _ = models.tensor_specs('CartPole-v1')
  unbounded = tf.TensorSpec([], tf.int64, 'action')
  function = lambda x: tf.cast(x[:, 0] * 0.0, tf.int64) + 7
  policy = models.save_and_load(
      models.Function('', function, (time_step_spec, unbounded)),
      tmp_path,
      'CartPole-v1',
  )
  setting = settings.setting('main', policy.action_spec)
  for wrapped in (
      policy,
      settings.target_policy(policy),
      settings.behaviour_policy(policy, setting),
  ):
    with pytest.raises(
        errors.UserCodeError, match=f'^policy={tmp_path}: gave the action 7'
    ):
      _first_actions(wrapped, 'CartPole-v1')


def _noisy(value):
  """A stochastic policy around a number."""

  class Noisy(models.Function):

    def _distribution(self, time_step, policy_state):
      means = time_step.observation[:, :1] * 0.0 + value
      return policy_step.PolicyStep(tfd.Normal(means, 0.1), policy_state)

    def _action(self, time_step, policy_state, seed=None):
      step = self._distribution(time_step, policy_state)
      return step._replace(action=step.action.sample(seed=seed))

  return Noisy('Pendulum-v1', None)


@pytest.mark.parametrize('is_stochastic', [False, True])
def test_infinite_actions_are_refused(is_stochastic, tmp_path):
  """They would be clipped to the bound."""
  infinite = float('inf')
  policy = models.Function('Pendulum-v1', lambda x: x[:, :1] * 0.0 - infinite)
  policy = models.save_and_load(
      _noisy(infinite) if is_stochastic else policy, tmp_path, 'Pendulum-v1'
  )
  for wrapped in (
      policy,
      settings.target_policy(policy),
      settings.behaviour_policy(policy, settings.CONTINUOUS['easy']),
  ):
    with pytest.raises(errors.UserCodeError, match='not NaN or infinite ones'):
      _first_actions(wrapped, 'Pendulum-v1')
