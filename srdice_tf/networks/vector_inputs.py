"""States and actions as vectors of floats, and networks over them."""

from typing import Any

import numpy as np
import tensorflow as tf

from srdice_tf.networks import encoder
from srdice_tf.networks import layers

# (s, a) as the networks take it: a tensor, or a structure of tensors.
Inputs = Any


class VectorInputs:
  """Turns states and actions into vectors; makes the networks for them.

  Integers, as of finite MDPs and discrete actions, become one-hot vectors.
  """

  # Transitions that networks are computed for at a time, over the data set.
  chunk_size = 2048
  # Transitions for estimates during training, if ratios are networks.
  interim_size = 1_000_000
  linear_in_actions = False
  has_vectors = True

  def __init__(self, observation_spec, action_spec):
    self.num_state_values = _size(observation_spec)
    self.num_action_values = _size(action_spec)
    self.size = self.num_state_values + self.num_action_values
    # Whether states and actions are numbered, as in a finite MDP.
    self.is_finite = all(
        tf.as_dtype(spec.dtype).is_integer and not spec.shape
        for spec in (observation_spec, action_spec)
    )

  def states(self, states: tf.Tensor) -> tf.Tensor:
    """Returns states as vectors [B, S]."""
    return _to_vectors(states, self.num_state_values)

  def actions(self, actions: tf.Tensor) -> tf.Tensor:
    """Returns actions as vectors [B, A]."""
    return _to_vectors(actions, self.num_action_values)

  def __call__(self, states: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    """Returns (s, a) [B, S + A]."""
    return tf.concat([self.states(states), self.actions(actions)], axis=-1)

  def network(
      self, num_outputs: int, config, rng, activation: str = 'relu'
  ) -> tf.keras.Sequential:
    """Returns a network from (s, a) to [B, outputs]."""
    hidden = [config.hidden_units] * config.hidden_layers
    return layers.mlp(self.size, hidden, num_outputs, rng, activation)

  def encoder_decoder(self, config, rng) -> encoder.EncoderDecoder:
    """Returns phi(s, a) with its decoders."""
    return encoder.EncoderDecoder(
        self.num_state_values, self.num_action_values, config, rng
    )


def _size(spec) -> int:
  if tf.as_dtype(spec.dtype).is_integer:
    return int(np.max(spec.maximum)) + 1
  return int(np.prod(spec.shape))


def _to_vectors(values: tf.Tensor, size: int) -> tf.Tensor:
  if values.dtype.is_integer:
    return tf.one_hot(values, size)
  return tf.reshape(values, [-1, size])
