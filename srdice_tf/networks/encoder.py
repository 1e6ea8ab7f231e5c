"""The encoder-decoder network that learns the features phi(s, a)."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.networks import layers


class EncoderDecoder(tf.keras.Model):
  """phi(s, a) and its decoders for s', a and r.

  phi is the last of `hidden_layers` ReLU layers, so it is never negative. The
  decoders of s' and a have one hidden layer less; that of r is linear.
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


class FeatureProduct(tf.keras.Model):
  """The product w.x with features x, for w of SR-DICE and of Deep SR.

  `feature_product` is `mean`, as in the authors' code, and w starts at ones:
  with Adam at a small rate this scale acts as a regulariser. Or it is `sum`, as
  printed in the paper, and w starts at PyTorch's initial weights: a step of
  Adam then moves the product F times as far.

  Adam moves w by its rate, whatever the size of x. If x is small, w has far to
  go: with pixels divided by 255 phi is about 1/150, so w is about 150, but 250k
  steps of 3e-4 only add up to 75. With `normalise_features` x is divided by its
  unit, the mean of phi over data and features. Then w = 1 gives ratios with
  mean 1, and w does not depend on the scale of phi. This equals starting w at
  1 / unit and multiplying its rate by 1 / unit. The unit is set once, before
  the first step, and kept in checkpoints.
  """

  def __init__(self, config, rng: np.random.Generator):
    """Makes w.

    Args:
      config: with `num_features`, `feature_product` and `normalise_features`.
      rng: of the initial weights of a sum.
    """
    super().__init__(name='feature_product')
    size, is_mean = config.num_features, config.feature_product == 'mean'
    self._count = float(size) if is_mean else 1.0
    self._is_normalised = config.normalise_features
    self.w = self.add_weight(
        name='w',
        shape=[size],
        initializer='ones' if is_mean else layers.torch_uniform(size, rng),
        dtype=tf.float32,
    )
    # 0 means that the unit is not known yet.
    self._unit = self.add_weight(
        name='unit', shape=[], initializer='zeros', trainable=False
    )

  def set_unit(self, mean_of: Callable[[], float]):
    """Sets the unit to the mean of phi, if it is used and not known yet."""
    if self._is_normalised and not float(self._unit):
      self._unit.assign(mean_of() or 1.0)  # If phi is 0, it stays as it is.

  @property
  def _divisor(self):
    if not self._is_normalised:
      return self._count  # A constant costs no time.
    return self._count * self._unit

  def call(self, features: tf.Tensor) -> tf.Tensor:
    """Returns w.x [B] of features [B, F]."""
    return _matvec(features, self.w) / self._divisor

  def effective(self) -> tf.Tensor:
    """Returns the w [F] whose plain product with x is the same, in float64."""
    return tf.cast(self.w, tf.float64) / tf.cast(self._divisor, tf.float64)


@tf.custom_gradient
def _matvec(features, w):
  """Returns features times w, with a faster gradient.

  The gradient is a row times a matrix. TensorFlow's own multiplies with the
  transposed features, which is four times slower on CPUs.
  """

  def gradient(upstream):  # [B]
    to_w = tf.matmul(upstream[None], features)[0]  # [F]
    return upstream[:, None] * w, to_w

  return tf.linalg.matvec(features, w), gradient
