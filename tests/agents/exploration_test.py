"""Tests of exploration: noise, bounds and the decay of epsilon."""

import numpy as np
import pytest
from tf_agents.specs import array_spec

from srdice_tf.agents import configs
from srdice_tf.agents import exploration

_TORQUES = array_spec.BoundedArraySpec((1,), np.float32, -2.0, 2.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 3)
_MANY = np.zeros((20_000, 3), np.float32)


def _gaussian(value, step):
  constant = lambda observations: np.full((len(observations), 1), value)
  choose = exploration.gaussian(
      constant, _TORQUES, configs.Td3Config(), step, np.random.default_rng(0)
  )
  return choose(_MANY)


def _share_of_greedy(step):
  greedy = lambda observations: np.full(len(observations), 2)
  choose = exploration.epsilon_greedy(
      greedy, _CHOICES, configs.DdqnConfig(), step, np.random.default_rng(0)
  )
  return np.mean(choose(_MANY) == 2)


def test_the_first_actions_are_uniform():
  actions = _gaussian(0.5, step=24_999)
  assert actions.dtype == np.float32
  np.testing.assert_allclose(actions.mean(), 0.0, atol=0.03)
  np.testing.assert_allclose(actions.std(), 2.0 / np.sqrt(3.0), rtol=0.02)


def test_noise_is_in_units_of_the_bound():
  actions = _gaussian(0.5, step=25_000)
  np.testing.assert_allclose(actions.mean(), 0.5, atol=0.01)
  np.testing.assert_allclose(actions.std(), 0.1 * 2.0, rtol=0.02)


def test_noisy_actions_stay_within_the_bounds():
  actions = _gaussian(2.0, step=25_000)
  assert actions.max() == 2.0
  np.testing.assert_allclose(np.mean(actions == 2.0), 0.5, atol=0.02)


@pytest.mark.parametrize(
    ('step', 'epsilon'),
    [(0, 1.0), (19_999, 1.0), (125_000, 0.505), (250_000, 0.01), (10**6, 0.01)],
)
def test_epsilon_decays_over_250k_steps(step, epsilon):
  # A random action is the greedy one of the four in a quarter of the cases.
  expected = 1.0 - 0.75 * epsilon
  np.testing.assert_allclose(_share_of_greedy(step), expected, atol=0.01)
