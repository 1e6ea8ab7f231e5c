"""Tests for the exact quantities of finite MDPs."""

import numpy as np
import pytest

from srdice_tf import finite
from srdice_tf.environments import finite_mdps

_SEEDS = range(20)


def _random(seed, termination=0.0):
  """Returns an MDP, a policy and a discount, all random."""
  rng = np.random.default_rng([seed, 7])
  num_states, num_actions = rng.integers(2, 15), rng.integers(1, 5)
  branching = rng.integers(1, num_states + 1)
  mdp = finite_mdps.random_mdp(num_states, num_actions, branching, seed)
  mdp.transition[...] *= 1.0 - termination
  policy = rng.dirichlet(np.ones(num_actions), num_states)
  return mdp, policy, rng.uniform(0.5, 0.99)


def test_two_states_by_hand():
  """State 0 goes to 1 with a chance of 1/2 by action 1 only; 1 ends."""
  transition = np.zeros((2, 2, 2))
  transition[0, 0, 0] = 1.0
  transition[0, 1] = 0.5, 0.5
  mdp = finite.FiniteMDP(
      transition, np.array([[1.0, 2.0], [4.0, 4.0]]), np.array([1.0, 0.0])
  )
  policy = np.array([[0.5, 0.5], [1.0, 0.0]])
  # P_pi(0|0) = 0.5 + 0.25 and P_pi(1|0) = 0.25; gamma = 0.8.
  psi = finite.successor_representation(transition, policy, 0.8)
  np.testing.assert_allclose(psi, [[2.5, 0.5], [0.0, 1.0]], rtol=1e-15)
  expected = [[0.25, 0.25], [0.1, 0.0]]  # 0.2 * 2.5 / 2, 0.2 * 0.5.
  np.testing.assert_allclose(mdp.occupancy(policy, 0.8), expected, rtol=1e-14)
  assert mdp.value(policy, 0.8) == pytest.approx(0.25 + 0.5 + 0.4, rel=1e-14)
  data = np.array([[0.5, 0.25], [0.25, 0.0]])
  np.testing.assert_allclose(
      mdp.density_ratio(policy, 0.8, data), [[0.5, 1.0], [0.4, np.nan]]
  )


@pytest.mark.parametrize('seed', _SEEDS)
@pytest.mark.parametrize('termination', [0.0, 0.1])
def test_occupancy_is_the_discounted_sum_of_visits(seed, termination):
  mdp, policy, gamma = _random(seed, termination)
  visits, total = mdp.start, np.zeros_like(policy)
  for t in range(int(np.ceil(np.log(1e-18) / np.log(gamma)))):
    total += (1 - gamma) * gamma**t * visits[:, None] * policy
    visits = visits @ finite.under_policy(mdp.transition, policy)
  np.testing.assert_allclose(
      mdp.occupancy(policy, gamma), total, rtol=1e-12, atol=1e-16
  )
  alive = (1 - gamma) / (1 - gamma * (1 - termination))
  assert total.sum() == pytest.approx(alive, rel=1e-12)


@pytest.mark.parametrize('seed', _SEEDS)
def test_value_and_representation_obey_bellmans_equation(seed):
  mdp, policy, gamma = _random(seed)
  rewards = np.sum(policy * mdp.rewards, axis=1)  # [S]
  values = np.linalg.solve(
      np.eye(mdp.num_states)
      - gamma * finite.under_policy(mdp.transition, policy),
      rewards,
  )
  psi = finite.successor_representation(mdp.transition, policy, gamma)
  np.testing.assert_allclose(psi @ rewards, values, rtol=1e-12)
  assert mdp.value(policy, gamma) == pytest.approx(
      (1 - gamma) * mdp.start @ values, rel=1e-12
  )
