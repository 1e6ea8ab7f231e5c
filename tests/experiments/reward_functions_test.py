"""Tests for reward functions that are random networks."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import reward_functions


def _functions(**fields):
  config = reward_functions.RewardConfig(**fields)
  return reward_functions.RewardFunctions(config, 3)


def test_a_reward_by_hand(monkeypatch):
  """ReLU, ReLU, sigmoid, in chunks that do not divide the rows."""
  monkeypatch.setattr(reward_functions, '_CHUNK', 4)
  functions = _functions(reward_units=5)
  first, second, last = functions.weights(7)
  assert (first.shape, second.shape, last.shape) == ((3, 5), (5, 5), (5, 1))
  pairs = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
  hidden = np.maximum(np.maximum(pairs @ first, 0.0) @ second, 0.0)
  expected = 1.0 / (1.0 + np.exp(-(hidden @ last)[:, 0]))
  found = functions(7, tf.constant(pairs))
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
  assert np.ptp(found) > 0.1


def test_weights_are_normal_and_biases_are_none():
  weights = np.concatenate([w.ravel() for w in _functions().weights(0)])
  assert len(weights) == 3 * 256 + 256 * 256 + 256
  assert abs(weights.mean()) < 0.02 and weights.std() == pytest.approx(1, 0.02)
  assert _functions()(0, tf.zeros([1, 3])) == [0.5]


def test_a_reward_depends_on_seed_and_number_only():
  many, few = _functions(), _functions(num_rewards=2)
  other = _functions(reward_seed=1)
  np.testing.assert_array_equal(many.weights(1)[0], few.weights(1)[0])
  assert np.any(many.weights(0)[0] != many.weights(1)[0])
  assert np.any(many.weights(1)[0] != other.weights(1)[0])


def test_what_rewards_depend_on_is_no_part_of_a_run():
  config = random_rewards.RandomRewardsConfig(run_dir='x', reward_units=8)
  assert config.description == {
      'num_rewards': 1000, 'reward_layers': 2, 'reward_units': 8,
      'reward_seed': 0,
  }
  with pytest.raises(errors.UserError, match='^least_truth=2'):
    random_rewards.RandomRewardsConfig(least_truth=2.0)
