"""The encoder-decoder network that learns the features phi(s, a)."""

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.networks import layers


class EncoderDecoder(tf.keras.Model):
  """phi(s, a) and its decoders for s', a and r.

  phi is the last of `hidden_layers` ReLU layers, so that it is not negative;
  the decoders of s' and a have one hidden layer less, that of r is linear.
  """

  def __init__(
      self,
      num_state_values: int,
      num_action_values: int,
      config,
      rng: np.random.Generator,
  ):
    """Builds the networks.

    Args:
      num_state_values: size of a state as a vector.
      num_action_values: size of an action as a vector.
      config: with `num_features`, `hidden_layers` and `hidden_units`.
      rng: of the initial weights.
    """
    super().__init__(name='encoder_decoder')
    num_features = config.num_features
    hidden = [config.hidden_units] * (config.hidden_layers - 1)
    self._num_state_values = num_state_values
    self._encoder = layers.mlp(
        num_state_values + num_action_values,
        hidden,
        num_features,
        rng,
        output_activation='relu',
    )
    self._next_state = layers.mlp(num_features, hidden, num_state_values, rng)
    self._action = layers.mlp(num_features, hidden, num_action_values, rng)
    self._reward = layers.dense(1, num_features, rng, use_bias=False)
    self._reward.build([None, num_features])

  def encode(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns phi [B, F] of (s, a) [B, inputs]."""
    return self._encoder(inputs)

  def call(self, inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the decoded s' [B, S], a [B, A] and r [B]."""
    features = self.encode(inputs)  # [B, F]
    reward = tf.squeeze(self._reward(features), -1)  # [B]
    return self._next_state(features), self._action(features), reward

  def errors(self, batch) -> dict[str, tf.Tensor]:
    """Returns the terms of the loss of a minibatch, by name."""
    next_states, actions, rewards = self(batch.inputs)
    given = batch.inputs[:, self._num_state_values :]  # [B, A]
    return {
        'next_state': losses.mean_squared_error(next_states, batch.next_states),
        'action': losses.mean_squared_error(actions, given),
        'reward': losses.mean_squared_error(rewards, batch.rewards),
    }


class LinearRatio(tf.keras.Model):
  """w.phi as the authors compute it: a mean over the features, w from ones.

  With Adam at a small rate this scale acts as a regulariser.
  """

  def __init__(self, num_features: int):
    super().__init__(name='linear_ratio')
    self.w = self.add_weight(
        name='w', shape=[num_features], initializer='ones', dtype=tf.float32
    )

  def call(self, features: tf.Tensor) -> tf.Tensor:
    """Returns mean_i(w_i x_i) [B] of features [B, F]."""
    return _matvec(features, self.w) / float(self.w.shape[0])


@tf.custom_gradient
def _matvec(features, w):
  """Returns features w, with a gradient that is a row times a matrix.

  TensorFlow's own multiplies with the transposed features: on CPUs four times
  slower, a fifth of a step of w.
  """

  def gradient(upstream):  # [B]
    to_w = tf.matmul(upstream[None], features)[0]  # [F]
    return upstream[:, None] * w, to_w

  return tf.linalg.matvec(features, w), gradient
