"""Many small networks of the same shape that are trained together."""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from srdice_tf.networks import layers


class StackedMLP(tf.Module):
  """N perceptrons, by default with tanh, from [B, inputs] to [N, B, outputs].

  The weights of a layer are one tensor [N, inputs, outputs], so that a layer of
  all networks is one product.
  """

  def __init__(
      self,
      num_networks: int,
      num_inputs: int,
      hidden_units: Sequence[int],
      num_outputs: int,
      rng: np.random.Generator,
      activation: Callable[[tf.Tensor], tf.Tensor] = tf.tanh,
  ):
    super().__init__(name='stacked_mlp')
    self._activation = activation
    self._kernels, self._biases = [], []
    fan_in = num_inputs
    for units in (*hidden_units, num_outputs):
      kernel = layers.torch_uniform(fan_in, rng)([num_networks, fan_in, units])
      bias = layers.torch_uniform(fan_in, rng)([num_networks, 1, units])
      self._kernels.append(tf.Variable(kernel))  # [N, I, O]
      self._biases.append(tf.Variable(bias))  # [N, 1, O]
      fan_in = units

  def __call__(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns the outputs [N, B, O] of all networks for inputs [B, I]."""
    outputs = inputs
    for i, (kernel, bias) in enumerate(zip(self._kernels, self._biases)):
      if i:
        outputs = self._activation(outputs)
      outputs = tf.matmul(outputs, kernel) + bias
    return outputs
