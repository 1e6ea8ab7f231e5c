"""Returns of policies while they train, by playing in the environment."""

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments


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
