"""Tests for the true value against exact solutions."""

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf.evaluation import truth
from srdice_tf.policies import loading


def _random_policy(env_id):
  env = environments.load(env_id)
  return loading.load(
      'random', env_id, env.observation_spec(), env.action_spec()
  )


def _chain_value(gamma):
  """Solves the chain under the uniform policy; reward 1 for arriving in x5."""
  transition = np.zeros((5, 5))
  for state in range(5):
    for move in (-1, 1):
      transition[state, np.clip(state + move, 0, 4)] += 0.5
  rewards = transition[:, 4]
  values = np.linalg.solve(np.eye(5) - gamma * transition, rewards)
  return (1.0 - gamma) * values[0]


@pytest.mark.parametrize('gamma', [0.9, 0.99])
def test_chain_value_is_exact_within_three_errors(gamma):
  policy = _random_policy('FiveStateChain')
  value = truth.policy_value('FiveStateChain', policy, gamma, 400, seed=1)
  exact = _chain_value(gamma)
  assert abs(value.value - exact) < 3.0 * value.standard_error
  assert value.standard_error < 0.1 * exact


def test_time_limit_is_no_end():
  """With the limit kept, rewards after 200 steps are lost: gamma^200 = 0.13."""
  policy = _random_policy('FiveStateChain')
  arguments = ('FiveStateChain', policy, 0.99, 400)
  whole = truth.policy_value(*arguments, seed=1)
  cut = truth.policy_value(*arguments, seed=1, keep_time_limit=True)
  assert whole.horizon == 917 and cut.horizon == 200
  assert whole.value - cut.value > 3.0 * whole.standard_error
  # The return is that of the environment's own episodes, in either case.
  assert whole.mean_return == cut.mean_return
  assert whole.mean_length == 200.0


def test_rewards_are_discounted_by_hand():
  rollouts = truth.RollOuts(2, gamma=0.5, time_limit=2)
  batch = environments.load_batch('CartPole-v1', 2)
  step = batch.reset()
  last = step._replace(
      reward=np.float32([1.0, 2.0]), step_type=np.int32([2, 1])
  )
  rollouts((step, None, last))  # Both alive: rewards 1, 2.
  rollouts((last, None, last))  # The first has ended: 0, 2.
  rollouts((last, None, last))
  np.testing.assert_allclose(rollouts.discounted, [1.0, 2.0 + 1.0 + 0.5])
  np.testing.assert_allclose(rollouts.returns, [1.0, 4.0])
  np.testing.assert_allclose(rollouts.lengths, [1.0, 2.0])


def test_same_seed_same_value():
  policy = _random_policy('Pendulum-v1')
  first, second, other = (
      truth.policy_value('Pendulum-v1', policy, 0.9, 5, seed=seed)
      for seed in (1, 1, 2)
  )
  assert first == second
  assert first.value != other.value


def test_cartpole_value_of_terminating_episodes():
  """Reward 1 until the fall at step n: the value is 1 - gamma^n."""
  policy = _random_policy('CartPole-v1')
  value = truth.policy_value('CartPole-v1', policy, 0.99, 50, seed=0)
  low, high = 1.0 - 0.99**8, 1.0 - 0.99**120
  assert low < value.value < high
  # Alive is all that CartPole rewards.
  assert value.occupancy == pytest.approx(value.value, rel=1e-5)
  assert value.mean_return == value.mean_length < 100


def test_a_value_does_not_wait_for_whole_episodes():
  policy = _random_policy('Pendulum-v1')
  whole, part = (
      truth.policy_value('Pendulum-v1', policy, 0.9, 3, whole_episodes=whole)
      for whole in (True, False)
  )
  assert (whole.horizon, part.horizon) == (200, truth.horizon_of(0.9))
  # Rewards are -16.3 at the lowest, and weigh 1e-4 in all from there on.
  assert part.value - 16.3 * 1e-4 <= whole.value < part.value
