"""Tests for the steps of roll-outs as a table."""

import numpy as np
import pytest

from srdice_tf.evaluation import rollouts
from srdice_tf.evaluation import trajectories
from tests import fixtures

_GAMMA = 0.9


def _config(**fields):
  return rollouts.RollOutConfig(fixtures.COUNTER, _GAMMA, **fields)


def _policy():
  return fixtures.behaviour_policy(fixtures.config(10))


@pytest.mark.parametrize('keep_time_limit', [False, True])
def test_values_are_those_of_the_same_roll_outs(keep_time_limit):
  """The counter's reward is its step after the move; its state has the step."""
  config = _config(keep_time_limit=keep_time_limit)
  rows = trajectories.sample(config, _policy(), 100)
  values = rows.values(rows.states[:, 1] + 1.0)
  truth = rollouts.measure(config, _policy(), num_episodes=100)
  assert values.shape == (100,)
  assert values.mean() == pytest.approx(truth.value, rel=1e-6)
  error = values.std(ddof=1) / 10.0
  assert error == pytest.approx(truth.standard_error, rel=1e-6)


def test_nothing_is_kept_behind_an_end():
  rows = trajectories.sample(_config(), _policy(), 30)
  steps = rows.states[:, 1]
  np.testing.assert_allclose(rows.weights, 0.1 * 0.9**steps, rtol=1e-6)
  lengths = np.bincount(rows.episodes, minlength=30)
  # 2 to 9 steps, past the time limit of 6; all of them once.
  assert set(lengths) <= set(range(2, 10)) and lengths.max() > 6
  for episode in range(30):
    found = np.sort(steps[rows.episodes == episode])
    np.testing.assert_array_equal(found, np.arange(lengths[episode]))


def test_actions_are_those_that_led_on():
  """The counter observes the last action."""
  rows = trajectories.sample(_config(), _policy(), 5)
  for episode in range(5):
    own = rows.episodes == episode
    states, actions = rows.states[own], rows.actions[own]
    assert actions.shape == (len(states), 1)
    np.testing.assert_allclose(states[1:, 2], actions[:-1, 0], rtol=1e-6)
