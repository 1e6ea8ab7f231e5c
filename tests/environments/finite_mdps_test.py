"""Tests for the finite MDPs and the environment that plays them."""

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.environments import finite_mdps


def test_chain_by_hand():
  mdp = finite_mdps.five_state_chain()
  assert mdp.transition.shape == (5, 2, 5)
  np.testing.assert_array_equal(
      mdp.transition.argmax(-1), [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]
  )
  np.testing.assert_array_equal(np.argwhere(mdp.rewards), [[3, 1], [4, 1]])
  np.testing.assert_array_equal(mdp.start, [1, 0, 0, 0, 0])


def test_grid_by_hand():
  mdp = finite_mdps.grid_walk()
  after = mdp.transition.argmax(-1)  # [100, 4]
  assert mdp.transition.shape == (100, 4, 100)
  assert after[34].tolist() == [44, 35, 24, 33]  # x = 3, y = 4.
  assert after[0].tolist() == [10, 1, 0, 0]
  assert after[99].tolist() == [99, 99, 89, 98]
  np.testing.assert_allclose(mdp.start, 0.01)
  assert mdp.rewards[99, 0] == 1.0
  assert mdp.rewards[34, 0] == pytest.approx(np.exp(-0.2 * 5 - 0.2 * 5))
  assert mdp.rewards[0, 2] == pytest.approx(np.exp(-0.2 * 18))


def test_random_mdps():
  mdp = finite_mdps.random_mdp(7, 3, 4, 0)
  np.testing.assert_allclose(mdp.transition.sum(-1), 1.0)
  assert ((mdp.transition > 0).sum(-1) == 4).all()
  assert mdp.start.sum() == pytest.approx(1.0)
  again = finite_mdps.random_mdp(7, 3, 4, 0)
  np.testing.assert_array_equal(mdp.transition, again.transition)
  other = finite_mdps.random_mdp(7, 3, 4, 1)
  assert np.abs(mdp.transition - other.transition).max() > 0.1


@pytest.mark.parametrize(
    'env_id', ['FiveStateChain', 'GridWalk', 'RandomMDP-6-2-3-4']
)
def test_environment_has_the_frequencies_of_its_mdp(env_id):
  mdp = environments.mdp_of(env_id)
  env = environments.load(env_id, seed=1, max_episode_steps=20)
  rng = np.random.default_rng(0)
  moves, starts = np.zeros_like(mdp.transition), np.zeros_like(mdp.start)
  for _ in range(1000):
    step = env.reset()
    starts[step.observation] += 1
    while not step.is_last():
      state, action = step.observation, rng.integers(mdp.num_actions)
      step = env.step(np.int64(action))
      moves[state, action, step.observation] += 1
      assert step.reward == np.float32(mdp.rewards[state, action])
    assert step.discount == 1.0  # The time limit ends no process.
  counts = moves.sum(-1, keepdims=True)
  deviation = np.sqrt(mdp.transition * (1 - mdp.transition) / counts)
  error = np.abs(moves / counts - mdp.transition)
  assert (error <= 5 * deviation + 1e-12).all()
  np.testing.assert_allclose(starts / 1000, mdp.start, atol=0.06)


def test_other_environments_have_no_mdp():
  assert environments.mdp_of('Pendulum-v1') is None


@pytest.mark.parametrize(
    'env_id, message',
    [
        ('RandomMDP-5-2', 'expected RandomMDP-<states>-<actions>-<br'),
        ('RandomMDP-5-2-6-0', 'branching from 1 to the number of states'),
        ('RandomMDP-5-0-2-0', 'at least one state and action'),
        ('RandomMDP-9999-9-2-0', 'expected 10,000,000 or less'),
        ('GridWalks', 'similar are GridWalk'),
    ],
)
def test_ids_that_cannot_be_read(env_id, message):
  with pytest.raises(errors.UserError, match=f'^env={env_id}: .*{message}'):
    environments.load(env_id)
