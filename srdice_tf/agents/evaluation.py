"""Returns and values of trained policies, by playing in the environment."""

import math

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

_NEGLIGIBLE = 1e-4  # A discount below it ends a roll-out.


def compiled_actions(policy: tf_policy.TFPolicy):
  """Returns a function from observations [B, ...] to actions [B, ...]."""
  spec = policy.time_step_spec.observation

  @tf.function(
      input_signature=[tf.TensorSpec((None, *spec.shape), spec.dtype)],
      autograph=False,
  )
  def actions(observations):
    zeros = tf.zeros(tf.shape(observations)[:1])  # [B]
    first = tf.cast(zeros, tf.int32)  # [B]
    step = ts.TimeStep(first, zeros, zeros + 1.0, observations)
    return policy.action(step).action

  return lambda observations: actions(tf.constant(observations)).numpy()


class Evaluator:
  """Plays one episode in each of a fixed set of environments."""

  def __init__(self, env_id: str, num_episodes: int, seed: int):
    self._env = environments.load_batch(
        env_id, num_episodes, seed, single_episode=True
    )

  def returns(self, actions, episode: int) -> np.ndarray:
    """Returns the undiscounted returns of episode number `episode`, [N]."""
    count = self._env.batch_size
    step = self._env.restore([episode] * count, [()] * count)
    totals = np.zeros(count)
    while not self._env.all_ended:
      step = self._env.step(actions(step.observation))
      totals += step.reward
    return totals

  def close(self):
    self._env.close()


def target_values(
    env_id: str,
    policy: tf_policy.TFPolicy,
    gamma: float,
    seed: int,
    num_rollouts: int = 100,
    num_envs: int = 25,
) -> np.ndarray:
  """Returns (1-gamma) sum_t gamma^t r_t of the target policy, [num_rollouts].

  Args:
    env_id: of the environment.
    policy: the deterministic policy that the target policy adds noise to.
    gamma: the discount.
    seed: of environments and noise.
    num_rollouts: a multiple of `num_envs`.
    num_envs: that step together.
  """
  horizon = math.ceil(math.log(_NEGLIGIBLE) / math.log(gamma))
  # A time limit does not end the process whose value this is.
  limit = max(environments.time_limit(env_id) or 0, horizon)
  env = environments.load_batch(
      env_id, num_envs, seed, max_episode_steps=limit, single_episode=True
  )
  noisy = seeded.SeededPyPolicy(settings.target_policy(policy), num_envs, seed)
  rounds = [
      _discounted_returns(env, noisy, gamma, episode)
      for episode in range(num_rollouts // num_envs)
  ]
  env.close()
  return (1.0 - gamma) * np.concatenate(rounds)


def _discounted_returns(env, policy, gamma: float, episode: int) -> np.ndarray:
  step = env.restore([episode] * env.batch_size, [()] * env.batch_size)
  totals, discount = np.zeros(env.batch_size), 1.0  # [B]
  while not env.all_ended:
    step = env.step(policy.action(step).action)
    totals += discount * step.reward
    discount *= gamma
  return totals
