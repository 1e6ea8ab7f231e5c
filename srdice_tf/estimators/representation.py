"""Phases 1 and 2 of SR-DICE and Deep SR: phi, and its successor psi."""

import functools

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import linear
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.networks import layers


class Representation(tf.Module):
  """Features phi(s, a) and psi(s, a) = E[sum_t gamma^t phi(s_t, a_t)]."""

  def __init__(
      self,
      problem: problem_lib.Problem,
      config: config_lib.Config,
      seed: int,
  ):
    super().__init__(name='representation')
    self.problem = problem
    self.config = config
    self._seed = seed
    self._rng = base.generator(seed, 'representation')
    rng = np.random.default_rng([seed, base.stable_hash('representation')])
    self._encoder = problem.inputs.encoder_decoder(config, rng)
    network = lambda: problem.inputs.network(config.num_features, config, rng)
    self._successor, self._target = network(), network()
    self._target.set_weights(self._successor.get_weights())
    self._num_updates = tf.Variable(0, dtype=tf.int64, name='num_updates')
    self._encoder_optimizer = self._adam()
    self._successor_optimizer = self._adam()
    self._compiled_successor = tf.function(
        self.successor, autograph=False, reduce_retracing=True
    )
    self._features = None
    self._start_successors = None
    self._mean_reward_features = None
    self.phases = (
        base.Phase(
            'encoder', config.encoder_steps, self._encoder_step, cost=1.2
        ),
        base.Phase(
            'successor',
            config.successor_steps,
            self._successor_step,
            self.prepare,
        ),
    )

  def _adam(self):
    return layers.adam(self.config.learning_rate, self.config.adam_epsilon)

  def encode(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns phi [B, F] of (s, a), which may depend on s alone."""
    return self._encoder.encode(inputs)

  def successor(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns psi [B, F] of (s, a)."""
    return self._successor(inputs)

  @property
  def features(self) -> tf.Tensor:
    """Phi over the data set, [n, F]; after `prepare`."""
    return self._features

  def prepare(self):
    """Computes phi over the data set, once it is frozen."""
    if self._features is None:
      self._features = self.problem.over_data(self.encode)()

  @property
  def start_successors(self) -> tf.Tensor:
    """psi(s0, a0) [P, F] of a pool, in random order; after `prepare_starts`."""
    return self._start_successors

  @property
  def mean_start_successor(self) -> tf.Tensor:
    """E[psi(s0, a0)] [F] of that pool, in float64."""
    return tf.reduce_mean(tf.cast(self._start_successors, tf.float64), 0)

  @property
  def mean_reward_features(self) -> tf.Tensor:
    """E[r phi] [F] of the data set, in float64; after `prepare_starts`."""
    return self._mean_reward_features

  def mean_feature(self) -> float:
    """Returns the mean of phi over data and features, the unit of w."""
    ones = tf.ones([self.problem.size])
    return float(tf.reduce_mean(linear.mean_product(self._features, ones)))

  def prepare_starts(self):
    """Computes what w is fitted to, once psi is frozen too."""
    self.prepare()
    if self._start_successors is not None:
      return
    # All methods that share phi and psi share the pool: it is the seed's.
    rng = base.generator(self._seed, base.START_POOL)
    pool = self.problem.start_pool(self.config.start_pool, rng)  # P pairs
    successors = self.problem.map_inputs(self._compiled_successor, pool)
    order = tf.argsort(rng.uniform([successors.shape[0]]))
    self._start_successors = tf.gather(successors, order)
    self._mean_reward_features = linear.mean_product(
        self._features, self.problem.dataset.rewards
    )

  @functools.cached_property
  def _least_squares(self) -> linear.LeastSquares:
    return linear.LeastSquares(self._features, self.config.ridge)

  def ratio_weights(self) -> tf.Tensor:
    """Returns w* [F] in float64: w*.phi is SR-DICE's ratio in closed form."""
    return self._least_squares.solve(
        (1.0 - self.problem.gamma) * self.mean_start_successor
    )

  def reward_weights(self) -> tf.Tensor:
    """Returns w [F] in float64: w.phi is the least-squares fit of r."""
    return self._least_squares.solve(self._mean_reward_features)

  def _encoder_step(self):
    config = self.config
    weights = {
        'next_state': config.next_state_weight,
        'action': config.action_weight,
        'reward': config.reward_weight,
        'feature': config.feature_weight,
    }
    batch = self.problem.sample(config.batch_size, self._rng)
    loss = base.gradient_step(
        self._encoder_optimizer,
        self._encoder.trainable_variables,
        lambda: losses.encoder_decoder_loss(
            self._encoder.errors(batch), weights
        ),
    )
    return {'loss': loss}

  def _successor_step(self):
    batch = self.problem.sample(self.config.batch_size, self._rng)
    target = losses.bootstrap_target(
        tf.gather(self._features, batch.index),  # [B, F]
        self._target(batch.next_inputs),
        self.problem.gamma,
        batch.not_done,
    )
    variables = self._successor.trainable_variables
    loss = base.gradient_step(
        self._successor_optimizer,
        variables,
        lambda: losses.mean_squared_error(
            self._successor(batch.inputs), target
        ),
    )
    base.update_target(
        self._target, self._successor, self.config, self._num_updates, loss
    )
    return {'loss': loss}
