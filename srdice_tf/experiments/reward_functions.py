"""Reward functions r(s, a) that are random networks."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import ranges

_CHUNK = 8192  # Pairs (s, a) whose rewards are computed together.


@dataclasses.dataclass(frozen=True)
class RewardConfig:
  """Networks with weights from N(0, 1), without biases, and a sigmoid.

  Attributes:
    num_rewards: how many are drawn.
    reward_layers: hidden layers of ReLU.
    reward_units: units of each hidden layer.
    reward_seed: of the weights; the rewards do not depend on their number.
  """

  num_rewards: int = ranges.at_least(1, 1000)
  reward_layers: int = ranges.between(0, 16, 2)
  reward_units: int = ranges.at_least(1, 256)
  reward_seed: int = ranges.seed(0)

  @property
  def description(self) -> dict:
    """All that the rewards depend on."""
    fields = dataclasses.fields(RewardConfig)
    return {field.name: getattr(self, field.name) for field in fields}


class RewardFunctions:
  """The rewards of a config, each a function of (s, a) as a vector."""

  def __init__(self, config: RewardConfig, num_inputs: int):
    self._config = config
    self._num_inputs = num_inputs

  def weights(self, number: int) -> list[np.ndarray]:
    """Returns the kernels of a reward, from the inputs to [units, 1]."""
    config = self._config
    rng = np.random.default_rng([config.reward_seed, number])
    hidden = [config.reward_units] * config.reward_layers
    sizes = [self._num_inputs, *hidden, 1]
    return [
        rng.standard_normal(shape, np.float32)
        for shape in zip(sizes, sizes[1:])
    ]

  def __call__(self, number: int, pairs: tf.Tensor) -> np.ndarray:
    """Returns the rewards [N] of pairs [N, inputs], from 0 to 1."""
    weights = [tf.constant(kernel) for kernel in self.weights(number)]
    parts = [
        _forward(pairs[begin : begin + _CHUNK], weights)
        for begin in range(0, pairs.shape[0], _CHUNK)
    ]
    return np.concatenate(parts)


@tf.function(reduce_retracing=True, autograph=False)
def _forward(pairs, weights):
  *hidden, last = weights
  for kernel in hidden:
    pairs = tf.nn.relu(tf.matmul(pairs, kernel))  # [B, units]
  return tf.sigmoid(tf.matmul(pairs, last))[:, 0]  # [B]
