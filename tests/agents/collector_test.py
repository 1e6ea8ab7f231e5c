"""Tests of the experience that agents learn from."""

import numpy as np
import pytest

from srdice_tf.agents import collector


def _always(action):
  return lambda observations: np.full(
      (len(observations), *np.shape(action)), action
  )


def _random_torques(seed):
  rng = np.random.default_rng(seed)
  return lambda observations: rng.uniform(
      -2.0, 2.0, (len(observations), 1)
  ).astype(np.float32)


def _assert_equal(left, right):
  for a, b in zip(left, right):
    np.testing.assert_array_equal(a, b)


def test_termination_has_discount_zero():
  # One environment; the pole falls within a dozen steps to one side.
  experience = collector.Collector('CartPole-v1', 1, seed=0)
  block = experience.collect(_always(np.int64(0)), 50)
  ends = np.flatnonzero(block.discount == 0.0)
  assert len(ends) >= 3
  # Where an episode ended, the next row is a start: near the upright state.
  for end in ends[:-1]:
    assert abs(block.next_observation[end][2]) > 0.2
    assert np.all(np.abs(block.observation[end + 1]) <= 0.05)


def test_truncation_has_discount_one():
  experience = collector.Collector('Pendulum-v1', 1, seed=0)
  block = experience.collect(_random_torques(0), 450)
  np.testing.assert_array_equal(block.discount, np.ones(450))


def test_no_transition_leads_from_one_episode_into_the_next():
  experience = collector.Collector('Pendulum-v1', 1, seed=0)
  block = experience.collect(_random_torques(0), 450)
  chained = np.all(
      block.next_observation[:-1] == block.observation[1:], axis=1
  )
  # The chain breaks after steps 200 and 400 only, at the time limit.
  np.testing.assert_array_equal(np.flatnonzero(~chained), [199, 399])


def test_reward_and_next_observation_belong_to_the_action():
  experience = collector.Collector('Pendulum-v1', 2, seed=3)
  block = experience.collect(_random_torques(1), 20)
  cos, sin, speed = block.observation.T
  angle = np.arctan2(sin, cos)
  torque = block.action[:, 0]
  cost = angle**2 + 0.1 * speed**2 + 0.001 * torque**2
  np.testing.assert_allclose(block.reward, -cost, rtol=1e-4)
  acceleration = 15.0 * sin + 3.0 * torque
  expected = np.clip(speed + 0.05 * acceleration, -8.0, 8.0)
  np.testing.assert_allclose(block.next_observation[:, 2], expected, rtol=1e-4)


@pytest.mark.parametrize('num_steps', [150, 400, 402])
def test_a_restored_collector_goes_on_alike(num_steps):
  original = collector.Collector('Pendulum-v1', 2, seed=5)
  original.collect(_random_torques(0), num_steps)
  restored = collector.Collector('Pendulum-v1', 2, seed=5)
  restored.restore(original.state())
  _assert_equal(
      original.collect(_random_torques(1), 300),
      restored.collect(_random_torques(1), 300),
  )
