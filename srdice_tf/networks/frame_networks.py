"""Inputs and networks for stacks of frames with discrete actions, as Atari."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.networks import convolution
from srdice_tf.networks import layers


class FrameActions(NamedTuple):
  """States with weights of their actions.

  Attributes:
    states: [B, H, W, K] uint8.
    weights: [B, A] one-hot actions, or a policy's probabilities: networks are
      linear in them, so that they give the exact expectation.
  """

  states: tf.Tensor
  weights: tf.Tensor


class FrameInputs:
  """What VectorInputs is for vectors: inputs and networks for frames."""

  # Transitions that networks are computed for at a time, over the data set.
  chunk_size = 256
  interim_size = 10_000  # Convolutions over all data would take minutes.
  linear_in_actions = True
  has_vectors = False

  def __init__(self, observation_spec, action_spec):
    self._shape = tuple(observation_spec.shape)
    self.num_actions = int(np.max(action_spec.maximum)) + 1

  def states(self, states: tf.Tensor) -> tf.Tensor:
    """Returns states [B, H, W, K] as they are."""
    return states

  def actions(self, actions: tf.Tensor) -> tf.Tensor:
    """Returns one-hot actions [B, A]; probabilities [B, A] as they are."""
    if actions.dtype.is_integer:
      return tf.one_hot(actions, self.num_actions)
    return actions

  def __call__(self, states: tf.Tensor, actions: tf.Tensor) -> FrameActions:
    return FrameActions(self.states(states), self.actions(actions))

  def network(self, num_outputs: int, config, rng, activation='relu'):
    """Returns a network from FrameActions to [B, outputs].

    Args:
      num_outputs: for each action.
      config: with the sizes of the trunk and `pixel_scale`.
      rng: of the initial weights.
      activation: not used: convolutions are followed by ReLU.
    """
    del activation
    return FrameNetwork(
        self._shape, config, self.num_actions, num_outputs, rng
    )

  def encoder_decoder(self, config, rng) -> 'FrameEncoderDecoder':
    """Returns phi(s) with its decoders."""
    return FrameEncoderDecoder(self._shape, config, rng)


def _trunk(shape, config, rng) -> tf.keras.Sequential:
  """Returns convolutions and `hidden_layers` behind them, to [B, units]."""
  units = config.hidden_units
  sizes = convolution.Trunk(
      ((32, 8, 4), (config.second_filters, 4, 2), (64, 3, 1)), units
  )
  model = tf.keras.Sequential(
      convolution.trunk_layers(shape, sizes, config.pixel_scale, rng)
  )
  for _ in range(config.hidden_layers - 1):  # The first is the trunk's.
    model.add(layers.dense(units, units, rng, 'relu'))
  return model


class FrameNetwork(tf.keras.Model):
  """A trunk with a head for each action, such as psi(s, a) or Q(s, a)."""

  def __init__(self, shape, config, num_actions: int, num_outputs: int, rng):
    super().__init__(name='frame_network')
    self._trunk = _trunk(shape, config, rng)
    self._head = layers.dense(
        num_actions * num_outputs, config.hidden_units, rng
    )
    self._shape = (-1, num_actions, num_outputs)
    self(FrameActions(
        tf.zeros((1, *shape), tf.uint8), tf.zeros((1, num_actions))
    ))  # Makes the variables.

  def call(self, inputs: FrameActions) -> tf.Tensor:
    """Returns sum_a weight(a) y(s, a) [B, outputs]."""
    values = self._head(self._trunk(inputs.states))  # [B, A * outputs]
    values = tf.reshape(values, self._shape)  # [B, A, outputs]
    return tf.reduce_sum(values * inputs.weights[:, :, None], axis=1)


class FrameEncoderDecoder(tf.keras.Model):
  """phi(s), of the state alone, and its decoders for the next frame and r."""

  def __init__(self, shape, config, rng):
    """Builds the networks.

    Args:
      shape: [H, W, K] of a state.
      config: with the sizes of the trunk, `num_features`, `pixel_scale` and
        `mask_terminal_frame`.
      rng: of the initial weights.
    """
    super().__init__(name='encoder_decoder')
    num_features = config.num_features
    self._pixel_scale = config.pixel_scale
    self._mask_terminal = config.mask_terminal_frame
    self._encoder = _trunk(shape, config, rng)
    self._encoder.add(
        layers.dense(num_features, config.hidden_units, rng, 'relu')
    )
    self._next_frame = _frame_decoder(num_features, rng)
    self._reward = layers.dense(1, num_features, rng, use_bias=False)
    states = tf.zeros((1, *shape), tf.uint8)
    self(FrameActions(states, tf.zeros((1, 1))))  # Makes the variables.

  def encode(self, inputs: FrameActions) -> tf.Tensor:
    """Returns phi [B, F] of the states."""
    return self._encoder(inputs.states)

  def call(self, inputs: FrameActions):
    """Returns phi [B, F], the next frame [B, H, W, 1] and the reward [B]."""
    features = self.encode(inputs)  # [B, F]
    reward = tf.squeeze(self._reward(features), -1)  # [B]
    return features, self._next_frame(features), reward

  def errors(self, batch) -> dict[str, tf.Tensor]:
    """Returns the terms of the loss of a minibatch, by name.

    With `mask_terminal_frame` the frame of a terminal state does not count,
    since nothing follows it.
    """
    features, frames, rewards = self(batch.inputs)
    newest = tf.cast(batch.next_states[..., -1:], tf.float32)  # [B, H, W, 1]
    mask = batch.not_done if self._mask_terminal else tf.ones_like(rewards)
    mask = mask[:, None, None, None]  # [B, 1, 1, 1]
    return {
        'next_state': losses.mean_squared_error(
            mask * frames, mask * newest / self._pixel_scale
        ),
        'reward': losses.mean_squared_error(rewards, batch.rewards),
        'feature': tf.reduce_mean(tf.square(features)),
    }


def _frame_decoder(num_features: int, rng) -> tf.keras.Sequential:
  """Returns the decoder from features to one frame [B, 84, 84, 1]."""
  decoder = tf.keras.Sequential([
      layers.dense(7 * 7 * 64, num_features, rng, 'relu'),
      tf.keras.layers.Reshape((7, 7, 64)),
  ])
  sizes = ((64, 3, 1, 'relu'), (32, 4, 2, 'relu'), (1, 8, 4, None))
  for filters, kernel, stride, activation in sizes:
    fan_in = filters * kernel**2  # As PyTorch counts transposed convolutions.
    decoder.add(
        tf.keras.layers.Conv2DTranspose(
            filters,
            kernel,
            stride,
            activation=activation,
            kernel_initializer=layers.torch_uniform(fan_in, rng),
            bias_initializer=layers.torch_uniform(fan_in, rng),
        )
    )
  return decoder
