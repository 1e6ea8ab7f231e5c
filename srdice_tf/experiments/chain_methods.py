"""SR-DICE, DualDICE and GradientDICE on the five-state chain, many trials.

All trials of a method are one stack of networks. There are only ten pairs
(s, a): the networks are evaluated at these ten, and the results are gathered
for a minibatch. Loss and gradient are the same at a tenth of the cost.

What is minimised is the sum of the trials' losses, each a mean over its own
minibatch: each trial gets the gradient of its own loss.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import least_squares
from srdice_tf.estimators import random_streams
from srdice_tf.networks import stacked

FEATURES = ('tabular', 'inverted', 'dependent')
_HIDDEN_UNITS = (32, 32)


def state_features(kind: str) -> np.ndarray:
  """Returns the features [S, F] of the paper's three versions of the chain."""
  if kind == 'tabular':
    return np.eye(5)
  if kind == 'inverted':
    return (1.0 - np.eye(5)) / 2.0
  ones = np.array(
      [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], np.float64
  )
  return ones / np.linalg.norm(ones, axis=1, keepdims=True)


class Chain:
  """The ten pairs (s, a), each once in the data, and the uniform policy.

  Attributes:
    features: [10, F] phi = x, of the state alone.
    inputs: [10, F + 2] x with the action as one-hot vector.
    ratio: [10] the exact d_pi/d_D.
  """

  def __init__(self, kind: str, gamma: float):
    mdp = finite_mdps.five_state_chain()
    policy = np.full((mdp.num_states, mdp.num_actions), 1 / mdp.num_actions)
    data = np.full_like(policy, 1.0 / policy.size)
    self.gamma = gamma
    self.num_actions = mdp.num_actions
    self.ratio = mdp.density_ratio(policy, gamma, data).ravel()
    states, actions = np.divmod(np.arange(policy.size), mdp.num_actions)
    features = state_features(kind)[states]
    self.features = tf.constant(features, tf.float32)
    one_hot = np.eye(mdp.num_actions)[actions]
    inputs = np.concatenate([features, one_hot], axis=1)
    self.inputs = tf.constant(inputs, tf.float32)
    after = mdp.transition.argmax(axis=-1).ravel()  # [10]
    self._after = tf.constant(after, tf.int32)

  def sample(self, shape, rng: tf.random.Generator) -> 'ChainBatch':
    """Returns pairs drawn uniformly, in that shape."""
    pairs = rng.uniform(shape, 0, self.ratio.size, tf.int32)
    return ChainBatch(
        pairs=pairs,
        next_states=tf.gather(self._after, pairs),
        next_actions=rng.uniform(shape, 0, self.num_actions, tf.int32),
        start_actions=rng.uniform(shape, 0, self.num_actions, tf.int32),
    )


class ChainBatch(NamedTuple):
  """Indices [T, B]: of pairs (s, a), of s', and of a' and a0 drawn from pi."""

  pairs: tf.Tensor
  next_states: tf.Tensor
  next_actions: tf.Tensor
  start_actions: tf.Tensor


class ChainMethod(tf.Module):
  """One method with all its trials."""

  def __init__(self, name: str, chain: Chain, config, stream: str):
    super().__init__(name=name)
    self._chain = chain
    self._config = config
    self._rng = random_streams.generator(config.seed, stream)
    self._init_rng = np.random.default_rng(
        [config.seed, random_streams.stable_hash(stream)]
    )

  def _network(self, num_outputs: int) -> stacked.StackedMLP:
    return stacked.StackedMLP(
        self._config.num_trials,
        self._chain.inputs.shape[1],
        _HIDDEN_UNITS,
        num_outputs,
        self._init_rng,
    )

  def _sample(self) -> ChainBatch:
    shape = [self._config.num_trials, self._config.batch_size]
    return self._chain.sample(shape, self._rng)

  def _at_pairs(self, values: tf.Tensor, batch: ChainBatch) -> tf.Tensor:
    """Returns the values [T, B, ...] at (s, a), given those [T, 10, ...]."""
    return tf.gather(values, batch.pairs, batch_dims=1)

  def _at_next(self, values: tf.Tensor, batch: ChainBatch) -> tf.Tensor:
    """Returns the values [T, B, ...] at (s', a'), or their mean over a'."""
    num_actions = self._chain.num_actions
    if self._config.expected_actions:
      return tf.gather(self._means(values), batch.next_states, batch_dims=1)
    pairs = batch.next_states * num_actions + batch.next_actions
    return tf.gather(values, pairs, batch_dims=1)

  def _at_starts(self, values: tf.Tensor, batch: ChainBatch) -> tf.Tensor:
    """Returns the values [T, B or 1, ...] at (x1, a0), or their mean."""
    if self._config.expected_actions:
      return self._means(values)[:, :1]
    return tf.gather(values, batch.start_actions, batch_dims=1)

  def _means(self, values: tf.Tensor) -> tf.Tensor:
    """Returns the means [T, 5, ...] over the actions of values [T, 10, ...]."""
    shape = values.shape
    by_action = [shape[0], -1, self._chain.num_actions, *shape[2:]]
    return tf.reduce_mean(tf.reshape(values, by_action), axis=2)

  def _sum_over_trials(self, objective: tf.Tensor) -> tf.Tensor:
    """Returns the sum of the trials' objectives, given their mean."""
    return self._config.num_trials * tf.reduce_mean(objective)

  def step(self) -> dict[str, tf.Tensor]:
    """Takes one step of stochastic gradient descent in each trial."""
    raise NotImplementedError

  def ratios(self) -> tf.Tensor:
    """Returns the ratios [T, 10] as learned so far."""
    raise NotImplementedError


class ChainSRDICE(ChainMethod):
  """psi by TD on the current network (tau = 1), w in closed form."""

  def __init__(self, chain: Chain, config, stream: str):
    super().__init__('srdice', chain, config, stream)
    num_features = chain.features.shape[1]
    self._psi = self._network(num_features)
    self._optimizer = _sgd(config.srdice_learning_rate)
    self._loss_scale = 0.5 * num_features if config.printed_loss else 1.0
    gram = least_squares.gram_of(chain.features)
    squares = least_squares.LeastSquares(gram, ridge=0.0)
    identity = tf.eye(num_features)
    inverse = tf.stack([squares.solve(row) for row in identity])  # [F, F]
    self._projection = tf.cast(
        tf.matmul(tf.cast(chain.features, tf.float64), inverse), tf.float32
    )  # [10, F], phi G^-1

  def step(self):
    batch = self._sample()

    def loss():
      psi = self._psi(self._chain.inputs)  # [T, 10, F]
      target = losses.bootstrap_target(
          tf.gather(self._chain.features, batch.pairs),  # [T, B, F]
          self._at_next(psi, batch),
          self._chain.gamma,
          not_done=tf.constant(1.0),
      )
      error = losses.mean_squared_error(self._at_pairs(psi, batch), target)
      return self._sum_over_trials(self._loss_scale * error)

    value = gradient_steps.gradient_step(
        self._optimizer, self._psi.trainable_variables, loss
    )
    return {'loss': value}

  def ratios(self):
    start_psi = self._means(self._psi(self._chain.inputs))[:, 0]  # [T, F]
    right_side = (1.0 - self._chain.gamma) * start_psi  # [T, F]
    return tf.matmul(right_side, self._projection, transpose_b=True)


class _NeuralDICE(ChainMethod):
  """Networks f and w, with a step of one after the other."""

  def __init__(self, name, chain: Chain, config, stream: str, rate: float):
    super().__init__(name, chain, config, stream)
    self._f, self._w = self._network(1), self._network(1)
    self._f_optimizer, self._w_optimizer = _sgd(rate), _sgd(rate)

  def _values(self, batch: ChainBatch) -> losses.DiceValues:
    f = self._f(self._chain.inputs)[..., 0]  # [T, 10]
    return losses.DiceValues(
        w=self._at_pairs(self.ratios(), batch),
        f=self._at_pairs(f, batch),
        next_f=self._at_next(f, batch),
        start_f=self._at_starts(f, batch),
    )

  def ratios(self):
    return self._w(self._chain.inputs)[..., 0]


class ChainDualDICE(_NeuralDICE):
  """min over f, max over w."""

  def __init__(self, chain: Chain, config, stream: str):
    rate = config.dual_dice_learning_rate
    super().__init__('dual_dice', chain, config, stream, rate)

  def step(self):
    batch = self._sample()

    def objective():
      return self._sum_over_trials(
          losses.dual_dice_objective(
              self._values(batch), self._chain.gamma, not_done=1.0
          )
      )

    value = gradient_steps.saddle_step(
        self._f_optimizer,
        self._f.trainable_variables,
        self._w_optimizer,
        self._w.trainable_variables,
        objective,
    )
    return {'objective': value}


class ChainGradientDICE(_NeuralDICE):
  """min over w, max over f and u."""

  def __init__(self, chain: Chain, config, stream: str):
    rate = config.gradient_dice_learning_rate
    super().__init__('gradient_dice', chain, config, stream, rate)
    self._u = tf.Variable(tf.zeros([config.num_trials, 1]))

  def step(self):
    batch = self._sample()

    def objective():
      return self._sum_over_trials(
          losses.gradient_dice_objective(
              self._values(batch),
              self._u,
              self._chain.gamma,
              not_done=1.0,
              norm_weight=self._config.gradient_dice_norm_weight,
              f_penalty=self._config.gradient_dice_f_penalty,
          )
      )

    value = gradient_steps.gradient_step(
        self._f_optimizer,
        [*self._f.trainable_variables, self._u],
        lambda: -objective(),
    )
    with tf.control_dependencies([value]):
      gradient_steps.gradient_step(
          self._w_optimizer, self._w.trainable_variables, objective
      )
    return {'objective': -value}


METHODS = {
    'srdice': ChainSRDICE,
    'dual_dice': ChainDualDICE,
    'gradient_dice': ChainGradientDICE,
}


def _sgd(learning_rate: float):
  return tf.keras.optimizers.legacy.SGD(learning_rate)
