"""TF-Agents policies of tests, saved by PolicySaver and loaded."""

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import policy_saver
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step

from srdice_tf import environments
from srdice_tf.policies import composed
from srdice_tf.policies import loading

PROBABILITIES = [0.4, 0.4, 0.1, 0.1]


def specs(env_id):
  env = environments.load(env_id)
  return env.observation_spec(), env.action_spec()


def tensor_specs(env_id):
  return composed.tensor_specs(*specs(env_id))


def load(path, env_id):
  return loading.load(str(path), env_id, *specs(env_id))


def save_and_load(policy, path, env_id):
  policy_saver.PolicySaver(policy).save(str(path))
  return load(path, env_id)


class Function(tf_policy.TFPolicy):
  """Acts by a function of the observation; not clipped."""

  def __init__(self, env_id, function, specs=None):
    super().__init__(*(specs or tensor_specs(env_id)), clip=False)
    self._function = function

  def _action(self, time_step, policy_state, seed=None):
    action = self._function(time_step.observation)
    return policy_step.PolicyStep(action, policy_state)


class Choices(tf_policy.TFPolicy):
  """TF-Agents' way: a distribution, of which `action` is a sample."""

  def _distribution(self, time_step, policy_state):
    shape = tf.shape(time_step.observation)
    probs = tf.tile(tf.constant([PROBABILITIES]), [shape[0], 1])
    found = tfp.distributions.Categorical(probs=probs, dtype=tf.int64)
    return policy_step.PolicyStep(found, policy_state)
