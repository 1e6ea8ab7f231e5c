"""Dense layers with PyTorch's defaults, as in the authors' code."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def torch_uniform(fan_in: int, rng: np.random.Generator):
  """PyTorch's default for kernel and bias: U(-1/sqrt(n), 1/sqrt(n))."""
  bound = 1.0 / np.sqrt(fan_in)
  seed = int(rng.integers(2**31))
  return tf.keras.initializers.RandomUniform(-bound, bound, seed=seed)


def dense(units: int, fan_in: int, rng, activation=None, use_bias=True):
  """Returns a dense layer for inputs of size `fan_in`."""
  return tf.keras.layers.Dense(
      units,
      activation,
      use_bias,
      kernel_initializer=torch_uniform(fan_in, rng),
      bias_initializer=torch_uniform(fan_in, rng),
  )


def mlp(
    num_inputs: int,
    hidden_units: Sequence[int],
    num_outputs: int,
    rng: np.random.Generator,
    activation: str = 'relu',
    output_activation: str | None = None,
) -> tf.keras.Sequential:
  """Returns a multi-layer perceptron from [B, inputs] to [B, outputs]."""
  layers, fan_in = [], num_inputs
  for units in hidden_units:
    layers.append(dense(units, fan_in, rng, activation))
    fan_in = units
  layers.append(dense(num_outputs, fan_in, rng, output_activation))
  model = tf.keras.Sequential(layers)
  model.build([None, num_inputs])
  return model


def linear(
    num_inputs: int, rng: np.random.Generator
) -> tf.keras.Sequential:
  """Returns the function w.x from [B, inputs] to [B, 1], without a bias."""
  model = tf.keras.Sequential([dense(1, num_inputs, rng, use_bias=False)])
  model.build([None, num_inputs])
  return model


class Adam(tf.keras.optimizers.legacy.Adam):
  """PyTorch's Adam: epsilon is added to the bias-corrected root.

  TensorFlow's fused kernel adds it before the correction, so epsilon is
  multiplied by a factor here. With small gradients and an epsilon of 1.5e-4 the
  first steps would differ by up to 20 times.
  """

  def build(self, variables):
    """Makes what it keeps of variables, before a step is traced.

    A function that makes variables while it is traced is traced a second time.
    """
    self._create_all_weights(variables)

  def _prepare_local(self, var_device, var_dtype, apply_state):
    super()._prepare_local(var_device, var_dtype, apply_state)
    state = apply_state[(var_device, var_dtype)]
    state['epsilon'] *= tf.sqrt(1.0 - state['beta_2_power'])


def adam(learning_rate, epsilon: float = 1e-8) -> Adam:
  """Returns Adam for a rate, or for a schedule of rates."""
  return Adam(learning_rate, epsilon=epsilon)
