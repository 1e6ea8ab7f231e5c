"""Deterministic policies that noise is added to: actors and greedy ones."""

import numpy as np
import tensorflow as tf
from tf_agents.networks import sequential
from tf_agents.policies import actor_policy
from tf_agents.policies import greedy_policy
from tf_agents.policies import q_policy
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf.networks import convolution
from srdice_tf.networks.layers import dense

HIDDEN_UNITS = (256, 256)
# The paper's, and a smaller one that takes less than half of the time.
PAPER_TRUNK = convolution.Trunk(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 512)
SMALL_TRUNK = convolution.Trunk(((16, 8, 4), (32, 4, 2)), 256)


def is_discrete(action_spec) -> bool:
  return tf.as_dtype(action_spec.dtype).is_integer


def describe(spec) -> str:
  """Returns type and shape of a spec for an error, such as float32[3]."""
  return f'{tf.as_dtype(spec.dtype).name}{list(spec.shape)}'


def _trunk(observation_spec, rng, trunk=PAPER_TRUNK) -> tuple[list, int]:
  """Returns the layers below the head and the number of their outputs."""
  if len(observation_spec.shape) == 3:
    layers = convolution.trunk_layers(observation_spec.shape, trunk, 255.0, rng)
    return layers, trunk.units
  if tf.as_dtype(observation_spec.dtype).is_integer:
    num_states = fan_in = int(observation_spec.maximum) + 1
    to_floats = lambda x: tf.one_hot(x, num_states)
  else:
    fan_in = int(np.prod(observation_spec.shape))
    to_floats = lambda x: tf.cast(x, tf.float32)
  layers = [tf.keras.layers.Lambda(to_floats)]
  for units in HIDDEN_UNITS:
    layers.append(dense(units, fan_in, rng, 'relu'))
    fan_in = units
  return layers, fan_in


def actor_network(observation_spec, action_spec, seed: int = 0):
  """Returns TD3's actor: 256-256 ReLU, tanh scaled to the action bounds."""
  rng = np.random.default_rng(seed)
  observation_spec = tensor_spec.from_spec(observation_spec)
  low, high = np.asarray(action_spec.minimum), np.asarray(action_spec.maximum)
  centre, half_range = (high + low) / 2.0, (high - low) / 2.0
  layers, fan_in = _trunk(observation_spec, rng)
  layers.append(dense(int(np.prod(action_spec.shape)), fan_in, rng, 'tanh'))
  layers.append(tf.keras.layers.Lambda(lambda x: x * half_range + centre))
  network = sequential.Sequential(layers, input_spec=observation_spec)
  network.create_variables()
  return network


def q_network(observation_spec, action_spec, seed: int = 0, trunk=PAPER_TRUNK):
  """Returns Double DQN's network: one value for each action.

  Args:
    observation_spec: of the environment.
    action_spec: of the environment, discrete.
    seed: of the weights.
    trunk: the convolutions, where observations are frames.
  """
  rng = np.random.default_rng(seed)
  observation_spec = tensor_spec.from_spec(observation_spec)
  layers, fan_in = _trunk(observation_spec, rng, trunk)
  num_actions = int(action_spec.maximum) - int(action_spec.minimum) + 1
  layers.append(dense(num_actions, fan_in, rng))
  network = sequential.Sequential(layers, input_spec=observation_spec)
  network.create_variables()
  return network


def deterministic_policy(
    observation_spec, action_spec, network=None, seed: int = 0
) -> tf_policy.TFPolicy:
  """Returns the policy of an actor, or the greedy one of a Q network.

  Args:
    observation_spec: of the environment, an array spec.
    action_spec: of the environment, a bounded array spec.
    network: from `actor_network` or `q_network`; default: an untrained one.
    seed: of the untrained network's weights.
  """
  time_step_spec = tensor_spec.from_spec(ts.time_step_spec(observation_spec))
  action_spec = tensor_spec.from_spec(action_spec)
  if is_discrete(action_spec):
    network = network or q_network(observation_spec, action_spec, seed)
    policy = q_policy.QPolicy(time_step_spec, action_spec, network)
    return greedy_policy.GreedyPolicy(policy)
  network = network or actor_network(observation_spec, action_spec, seed)
  return actor_policy.ActorPolicy(time_step_spec, action_spec, network)
