"""States and actions as vectors of floats."""

import numpy as np
import tensorflow as tf


class VectorInputs:
  """Turns states and actions into the vectors that the networks take.

  Integers, as of finite MDPs and discrete actions, become one-hot vectors.
  """

  def __init__(self, observation_spec, action_spec):
    self.num_state_values = _size(observation_spec)
    self.num_action_values = _size(action_spec)
    self.size = self.num_state_values + self.num_action_values

  def states(self, states: tf.Tensor) -> tf.Tensor:
    """Returns states as vectors [B, S]."""
    return _to_vectors(states, self.num_state_values)

  def actions(self, actions: tf.Tensor) -> tf.Tensor:
    """Returns actions as vectors [B, A]."""
    return _to_vectors(actions, self.num_action_values)

  def __call__(self, states: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    """Returns (s, a) [B, S + A]."""
    return tf.concat([self.states(states), self.actions(actions)], axis=-1)


def _size(spec) -> int:
  if tf.as_dtype(spec.dtype).is_integer:
    return int(np.max(spec.maximum)) + 1
  return int(np.prod(spec.shape))


def _to_vectors(values: tf.Tensor, size: int) -> tf.Tensor:
  if values.dtype.is_integer:
    return tf.one_hot(values, size)
  return tf.reshape(values, [-1, size])
