"""Tests for stochastic SavedModels, as PolicySaver writes them."""


import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.agents.sac import tanh_normal_projection_network
from tf_agents.networks import actor_distribution_network
from tf_agents.policies import actor_policy
from tf_agents.policies import epsilon_greedy_policy
from tf_agents.policies import gaussian_policy
from tf_agents.policies import greedy_policy
from tf_agents.policies import policy_saver
from tf_agents.policies import q_policy
from tf_agents.policies import random_tf_policy
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.evaluation import rollouts
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import probability_tables
from srdice_tf.policies import sampled
from srdice_tf.policies import saved
from srdice_tf.policies import settings
from tests.policies import models


def _sac_policy(env_id='Pendulum-v1'):
  time_step_spec, action_spec = models.tensor_specs(env_id)
  network = actor_distribution_network.ActorDistributionNetwork(
      time_step_spec.observation,
      action_spec,
      fc_layer_params=(8,),
      continuous_projection_net=(
          tanh_normal_projection_network.TanhNormalProjectionNetwork
      ),
  )
  network.create_variables()
  return actor_policy.ActorPolicy(time_step_spec, action_spec, network)


def _ppo_policy(env_id):
  time_step_spec, action_spec = models.tensor_specs(env_id)
  network = actor_distribution_network.ActorDistributionNetwork(
      time_step_spec.observation, action_spec, fc_layer_params=(8,)
  )
  network.create_variables()
  return actor_policy.ActorPolicy(time_step_spec, action_spec, network)


@pytest.fixture(scope='module')
def grid(tmp_path_factory):
  """A SavedModel of GridWalk without variables, and the same as a table."""
  directory = tmp_path_factory.mktemp('grid')
  policy = models.Choices(*models.tensor_specs('GridWalk'))
  loaded = models.save_and_load(policy, directory / 'model', 'GridWalk')
  np.save(directory / 'table.npy', np.tile(models.PROBABILITIES, (100, 1)))
  return loaded, models.load(directory / 'table.npy', 'GridWalk')


def test_probabilities_of_a_saved_model_are_used(grid):
  policy, table = grid
  mdp = environments.mdp_of('GridWalk')
  values = [
      mdp.value(
          actions.probability_table(settings.target_policy(p), 100), 0.99
      )
      for p in (policy, table)
  ]
  np.testing.assert_allclose(values[0], values[1], rtol=1e-7)
  assert values[0] == pytest.approx(0.8023, abs=1e-4)
  for name in settings.DISCRETE:
    setting = settings.setting(name, policy.action_spec)
    found, expected = (
        settings.behaviour_policy(p, setting) for p in (policy, table)
    )
    step = ts.restart(tf.zeros([3], tf.int64), 3)
    state = found.get_initial_state(3)
    choices = tf.range(4, dtype=tf.int64)[:, None]
    np.testing.assert_allclose(
        np.exp(found.distribution(step, state).action.log_prob(choices)),
        np.exp(expected.distribution(step, state).action.log_prob(choices)),
        rtol=1e-5,
    )


def test_roll_outs_of_a_saved_model_sample_its_distribution(grid):
  values = [
      rollouts.policy_value(
          'GridWalk', policy, 0.9, num_episodes=200, whole_episodes=False
      )
      for policy in (grid[0], grid[0], grid[1])
  ]
  assert values[0] == values[1]
  error = np.hypot(values[0].standard_error, values[2].standard_error)
  assert abs(values[0].value - values[2].value) < 4.0 * error


def test_frequencies_of_a_policy_of_vectors(tmp_path):
  network = base.q_network(*models.specs('CartPole-v1'))
  original = q_policy.QPolicy(*models.tensor_specs('CartPole-v1'), network)
  policy = models.save_and_load(original, tmp_path, 'CartPole-v1')
  assert isinstance(policy, sampled.SampledPolicy)
  step = ts.restart(tf.tile([[0.1, -0.2, 0.3, 0.4]], [4000, 1]), 4000)
  expected = original.distribution(step).action.probs_parameter().numpy()
  assert 0.1 < expected[0, 0] < 0.9
  view = actions.target_actions(settings.target_policy(policy))
  np.testing.assert_allclose(
      view.parameters(step.observation), expected, rtol=1e-5
  )
  setting = settings.setting('main', policy.action_spec)
  behaviour = settings.behaviour_policy(policy, setting)
  np.testing.assert_allclose(
      behaviour.distribution(step).action.probs_parameter(),
      0.9 * expected + 0.05,
      rtol=1e-5,
  )
  taken = behaviour.action(step, seed=tf.constant([1, 2])).action.numpy()
  assert abs(taken.mean() - (0.9 * expected[0, 1] + 0.05)) < 0.03


@pytest.fixture(scope='module')
def sac(tmp_path_factory):
  original = _sac_policy()
  path = tmp_path_factory.mktemp('sac')
  return original, models.save_and_load(original, path, 'Pendulum-v1')


def _pendulum_step(batch_size=2000):
  state = tf.constant([[0.1, 0.02, 0.03]])
  return ts.restart(tf.tile(state, [batch_size, 1]), batch_size)


def test_a_continuous_one_is_its_own_target(sac):
  original, policy = sac
  assert settings.target_policy(policy) is policy
  step = _pendulum_step()
  drawn = policy.action(step, seed=tf.constant([1, 2])).action.numpy()
  again = policy.action(step, seed=tf.constant([1, 2])).action.numpy()
  np.testing.assert_array_equal(drawn, again)
  expected = original.distribution(step).action.sample(seed=(1, 2)).numpy()
  np.testing.assert_allclose(drawn, expected, rtol=1e-5, atol=1e-5)
  assert drawn.std() > 0.1
  view = actions.target_actions(policy)
  draws = [
      view.sample(step.observation, tf.random.Generator.from_seed(3)).numpy()
      for _ in range(2)
  ]
  np.testing.assert_array_equal(draws[0], draws[1])
  assert draws[0].std() > 0.1


def test_truth_of_a_continuous_one_is_the_same_each_time(sac):
  values = [
      rollouts.policy_value('Pendulum-v1', sac[1], 0.9, num_episodes=3)
      for _ in range(2)
  ]
  assert values[0] == values[1]


def test_behaviour_around_a_continuous_one_adds_noise_to_its_samples():
  specs = models.tensor_specs('Pendulum-v1')

  class Narrow(tf_policy.TFPolicy):

    def _distribution(self, time_step, policy_state):
      centre = time_step.observation[:, :1]
      # Without events, as some networks have it.
      found = tfp.distributions.Normal(centre, 0.3)
      return policy_step.PolicyStep(found, policy_state)

  policy = sampled.repeatable(Narrow(*specs), 'policy')
  step = _pendulum_step(20_000)
  easy = settings.behaviour_policy(policy, settings.CONTINUOUS['easy'])
  drawn = easy.action(step, seed=tf.constant([1, 2])).action.numpy()
  assert drawn.shape == (20_000, 1)
  # The bound is 2: the noise is 0.133 * 2.
  assert drawn.std() == pytest.approx(np.hypot(0.3, 0.266), rel=0.03)
  assert drawn.mean() == pytest.approx(0.1, abs=0.02)
  hard = settings.behaviour_policy(policy, settings.CONTINUOUS['hard'])
  drawn = hard.action(step, seed=tf.constant([1, 2])).action.numpy()
  # Uniform between -2 and 2 with probability 0.2, else within 0.1 +- 1.5.
  far = np.mean(np.abs(drawn - 0.1) > 1.5)
  assert far == pytest.approx(0.2 * 0.25 + 0.8 * 0.0027, abs=0.01)
  assert np.abs(drawn).max() <= 2.0


@pytest.mark.parametrize('env_id', ['Pendulum-v1', 'CartPole-v1'])
def test_greedy_ones_are_deterministic(env_id, tmp_path):
  greedy = greedy_policy.GreedyPolicy(_ppo_policy(env_id))
  policy = models.save_and_load(greedy, tmp_path, env_id)
  assert isinstance(policy, saved.SavedPolicy)


def test_one_that_draws_without_a_distribution_is_refused(tmp_path):
  cart = models.tensor_specs('CartPole-v1')
  greedy = q_policy.QPolicy(*cart, base.q_network(*models.specs('CartPole-v1')))
  for i, (env_id, policy) in enumerate((
      ('CartPole-v1', random_tf_policy.RandomTFPolicy(*cart)),
      # So rarely that no test of actions would notice.
      (
          'CartPole-v1',
          epsilon_greedy_policy.EpsilonGreedyPolicy(greedy, 1e-6),
      ),
      (
          'Pendulum-v1',
          gaussian_policy.GaussianPolicy(
              base.deterministic_policy(*models.specs('Pendulum-v1'))
          ),
      ),
  )):
    path = tmp_path / str(i)
    policy_saver.PolicySaver(policy).save(str(path))
    with pytest.raises(
        errors.UserError, match=f'^policy={path}: it draws .* no distribution'
    ):
      models.load(path, env_id)


def test_checksums_of_policies_without_files(grid):
  specs = models.specs('GridWalk')
  names = [
      loading.checksum(policy)
      for policy in (
          *grid,
          loading.load('random', 'GridWalk', *specs),
          loading.load('untrained', 'GridWalk', *specs),
          loading.load('pretrained', 'GridWalk', *specs),
          models.Choices(*models.tensor_specs('GridWalk')),
      )
  ]
  assert len(set(names)) == len(names)


def test_a_table_saved_as_a_model_has_the_tables_value(tmp_path):
  specs = models.specs('FiveStateChain')
  table = probability_tables.TabularPolicy(*specs, [[0.3, 0.7]] * 5)
  policy = models.save_and_load(table, tmp_path, 'FiveStateChain')
  np.testing.assert_allclose(
      actions.probability_table(policy, 5),
      actions.probability_table(table, 5),
      rtol=1e-15,
  )
