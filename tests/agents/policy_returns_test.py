"""Tests of returns against sums that are known."""

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf.agents import policy_returns
from srdice_tf.policies import base


class _Constant(gymnasium.Env):
  """Pays 1 each step; terminates after 20 steps, if at all."""

  observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
  action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

  def __init__(self, terminates: bool):
    self._terminates = terminates

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._time = 0
    return np.zeros(1, np.float32), {}

  def step(self, action):
    self._time += 1
    terminated = self._terminates and self._time == 20
    return np.zeros(1, np.float32), 1.0, terminated, False, {}


for _name, _terminates in (('Ending', True), ('Endless', False)):
  gymnasium.register(
      f'Constant{_name}-v0', _Constant, max_episode_steps=30,
      kwargs={'terminates': _terminates},
  )


def _policy(env_id):
  env = environments.load(env_id)
  return base.deterministic_policy(env.observation_spec(), env.action_spec())


@pytest.mark.parametrize(
    ('env_id', 'length'),
    [('ConstantEnding-v0', 20), ('ConstantEndless-v0', 30)],
)
def test_returns_count_up_to_the_time_limit(env_id, length):
  evaluator = policy_returns.Evaluator(env_id, 3, seed=0)
  actions = policy_returns.compiled_actions(_policy(env_id))
  returns = evaluator.returns(actions, episode=0)
  np.testing.assert_array_equal(returns, [length] * 3)


def test_actions_take_any_batch():
  env = environments.load('Pendulum-v1')
  policy = _policy('Pendulum-v1')
  actions = policy_returns.compiled_actions(policy)
  observations = np.random.default_rng(0).normal(size=(6, 3)).astype('f4')
  steps = ts.restart(tf.constant(observations), batch_size=6)
  expected = policy.action(steps).action
  np.testing.assert_allclose(actions(observations), expected, rtol=1e-6)
  np.testing.assert_allclose(actions(observations[:2]), expected[:2], rtol=1e-5)
  env.close()
