"""Phases 1 and 2 of SR-DICE and Deep SR: phi, and its successor psi."""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from srdice_tf import limits
from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import closed_ridge
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import least_squares
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams
from srdice_tf.estimators import streamed_features
from srdice_tf.networks import layers

_NAME = 'representation'


@dataclasses.dataclass(frozen=True)
class RepresentationConfig(
    config_fields.TargetNetworks,
    config_fields.SuccessorSteps,
    config_fields.NumFeatures,
    config_fields.StartPool,
):
  """Encoder-decoder, successor representation and what w is fitted to.

  Attributes:
    encoder_steps: T1, the updates of the encoder-decoder.
    next_state_weight: Weight of the next state in the encoder-decoder's loss.
    action_weight: Weight of the action in the encoder-decoder's loss.
    reward_weight: Weight of the reward in the encoder-decoder's loss.
    standardise_rewards: Whether the encoder-decoder learns rewards less their
      mean, divided by their standard deviation, so that reward_weight means the
      same whatever the unit of the reward.
    feature_weight: Weight of mean(phi^2) in the encoder-decoder's loss, on
      frames.
    mask_terminal_frame: Whether the encoder-decoder ignores the frame after a
      terminal state.
    successor_residual: Whether psi(s, a) is phi(s, a) plus a network, which
      then learns only what follows; a network alone has to learn once more
      how phi depends on the action, which it smooths.
    ridge: Ridge of SR-DICE's closed form, added to E[phi phi^T] as a share of
      its mean diagonal.
  """

  encoder_steps: int = ranges.at_least(0, 30_000)
  next_state_weight: float = ranges.at_least(0, 1.0)
  action_weight: float = ranges.at_least(0, 1.0)
  reward_weight: float = ranges.at_least(0, 0.1)
  standardise_rewards: bool = False
  feature_weight: float = ranges.at_least(0, 0.1)
  mask_terminal_frame: bool = True
  successor_residual: bool = False
  ridge: float = ranges.at_least(0, 1e-6)

  def needed_bytes(self):
    return {
        **super().needed_bytes(),
        # E[phi phi^T], its factor and what it is summed from, in float64.
        'num_features': lambda f: 32 * f * f + 16 * f * self.hidden_units,
        'start_pool': lambda size: 4 * size * self.num_features,  # psi
    }


class Representation(tf.Module):
  """Features phi(s, a) and psi(s, a) = E[sum_t gamma^t phi(s_t, a_t)]."""

  Config = RepresentationConfig

  def __init__(
      self,
      problem: problems.Problem,
      config: RepresentationConfig,
      seed: int,
  ):
    """Makes the networks.

    Raises:
      UserError: if phi over the data does not fit the memory.
    """
    super().__init__(name=_NAME)
    if not problem.is_streamed:
      limits.check_memory(
          'num_features', config.num_features, lambda f: 4 * problem.size * f
      )
    self.problem = problem
    self.config = config
    self._seed = seed
    self._rng = random_streams.generator(seed, _NAME)
    rng = random_streams.numpy_generator(seed, _NAME)
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
    self._ring = None
    self._start_successors = None
    self._mean_reward_features = None
    self.phases = (
        phases.Phase(
            'encoder',
            config.encoder_steps,
            self._encoder_step,
            cost=1.2 * config.batch_size,
        ),
        phases.Phase(
            'successor',
            config.successor_steps,
            self._successor_step,
            self.prepare,
            cost=config.batch_size,
        ),
    )

  def _adam(self):
    return layers.adam(self.config.learning_rate, self.config.adam_epsilon)

  def encode(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns phi [B, F] of (s, a); with frames it depends on s alone."""
    return self._encoder.encode(inputs)

  def successor(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns psi [B, F] of (s, a)."""
    return self._psi(self._successor, inputs)

  def _psi(self, network, inputs) -> tf.Tensor:
    """Returns psi [B, F] by one of the two networks."""
    following = network(inputs)  # [B, F]
    if not self.config.successor_residual:
      return following
    return self.encode(inputs) + following

  @property
  def num_hidden(self) -> int:
    """H, the size of what psi is linear in."""
    config = self.config
    skipped = config.num_features if config.successor_residual else 0
    return config.hidden_units + skipped

  def successor_hidden(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns what psi is linear in [B, H].

    That is the last hidden layer of its network, with phi beside it if psi is
    phi plus a network.
    """
    hidden = inputs
    for layer in self._successor.layers[:-1]:
      hidden = layer(hidden)
    if not self.config.successor_residual:
      return hidden
    return tf.concat([hidden, self.encode(inputs)], axis=-1)

  @property
  def features(self) -> tf.Tensor:
    """Phi over the data set, [n, F]; after `prepare`.

    None if the data are streamed: then phi is computed where it is needed.
    """
    return self._features

  def prepare(self):
    """Computes phi over the data set, once it is frozen."""
    if self._features is None and not self.problem.is_streamed:
      self._features = self.problem.over_data(self.encode)()

  @functools.cached_property
  def _sums(self) -> streamed_features.FeatureSums:
    """Of streamed data."""
    return streamed_features.FeatureSums(self.problem, self.encode)

  def sample_features(self, size: int, rng) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns phi [B, F] and rewards [B] of transitions drawn uniformly."""
    if self._ring is not None:
      return self._ring.sample(size, rng)
    index = rng.uniform([size], 0, self._features.shape[0], tf.int32)  # [B]
    rewards = tf.gather(self.problem.rewards, index)
    return tf.gather(self._features, index), rewards

  @property
  def start_successors(self) -> tf.Tensor:
    """psi(s0, a0) [P, F] of the pool, shuffled; after `prepare_starts`."""
    return self._start_successors

  @property
  def mean_start_successor(self) -> tf.Tensor:
    """E[psi(s0, a0)] [F] over the pool, in float64."""
    return tf.reduce_mean(tf.cast(self._start_successors, tf.float64), 0)

  @property
  def mean_reward_features(self) -> tf.Tensor:
    """E[r phi] [F] over the data set, in float64; after `prepare_starts`."""
    return self._mean_reward_features

  def mean_feature(self) -> float:
    """Returns the mean of phi over data and features, the unit of w."""
    if self.problem.is_streamed:
      return float(tf.reduce_mean(self._sums.mean))
    ones = tf.ones([self.problem.size])
    means = least_squares.mean_product(self._features, ones)  # [F]
    return float(tf.reduce_mean(means))

  def prepare_starts(self):
    """Computes what w is fitted to, once psi is frozen too."""
    self.prepare()
    if self._start_successors is not None:
      return
    # The pool depends on the seed only, so that all methods have the same.
    rng = random_streams.generator(self._seed, random_streams.START_POOL)
    pool = self.problem.start_pool(self.config.start_pool, rng)  # P pairs
    successors = self.problem.map_inputs(self._compiled_successor, pool)
    order = tf.argsort(rng.uniform([successors.shape[0]]))
    self._start_successors = tf.gather(successors, order)
    if self.problem.is_streamed:
      self._mean_reward_features = self._sums.reward_mean
      self._ring = streamed_features.FeatureRing(
          self.problem, self.encode, self._rng
      )
    else:
      self._mean_reward_features = least_squares.mean_product(
          self._features, self.problem.rewards
      )

  @functools.cached_property
  def _least_squares(self) -> least_squares.LeastSquares:
    if self.problem.is_streamed:
      gram = self._sums.gram
    else:
      gram = least_squares.gram_of(self._features)
    return least_squares.LeastSquares(gram, self.config.ridge)

  def ratio_weights(self) -> tf.Tensor:
    """Returns w* [F] in float64: w*.phi is SR-DICE's ratio in closed form."""
    return self.closed_system().weights(self.config.ridge)

  def closed_system(self, has_mass: bool = False) -> closed_ridge.ClosedSystem:
    """Returns what w* is solved from, after `prepare_starts`.

    Args:
      has_mass: whether the ratios are to have the flow of the constant.
    """
    means = None
    if has_mass:
      means = self._flow_means()  # [F]
    return closed_ridge.ClosedSystem(
        self._least_squares,
        (1.0 - self.problem.gamma) * self.mean_start_successor,
        means,
        self.problem.gamma,
    )

  def _flow_means(self) -> tf.Tensor:
    if self.problem.is_streamed:
      return self._sums.end_mean
    return closed_ridge.flow_means(self.problem, self._features)

  def reward_weights(self) -> tf.Tensor:
    """Returns w [F] in float64: w.phi is the least-squares fit of r."""
    return self._least_squares.solve(self._mean_reward_features)

  @functools.cached_property
  def _reward_scale(self) -> tuple[float, float]:
    """Mean and standard deviation of the data's rewards; 1 for a constant."""
    rewards = self.problem.rewards.numpy().astype(np.float64)  # [n]
    return float(rewards.mean()), float(rewards.std()) or 1.0

  def _encoder_step(self):
    config = self.config
    weights = {
        'next_state': config.next_state_weight,
        'action': config.action_weight,
        'reward': config.reward_weight,
        'feature': config.feature_weight,
    }
    batch = self.problem.sample(config.batch_size, self._rng)
    if config.standardise_rewards:
      centre, width = self._reward_scale
      batch = batch._replace(rewards=(batch.rewards - centre) / width)
    loss = gradient_steps.gradient_step(
        self._encoder_optimizer,
        self._encoder.trainable_variables,
        lambda: losses.encoder_decoder_loss(
            self._encoder.errors(batch), weights
        ),
    )
    return {'loss': loss}

  def _successor_step(self):
    batch = self.problem.sample(self.config.batch_size, self._rng)
    if self.problem.is_streamed:
      features = self.encode(batch.inputs)  # [B, F]
    else:
      features = tf.gather(self._features, batch.index)  # [B, F]
    target = losses.bootstrap_target(
        features,
        self._psi(self._target, batch.next_inputs),
        self.problem.gamma,
        batch.not_done,
    )
    variables = self._successor.trainable_variables
    loss = gradient_steps.gradient_step(
        self._successor_optimizer,
        variables,
        lambda: losses.mean_squared_error(
            self.successor(batch.inputs), target
        ),
    )
    gradient_steps.update_target(
        self._target, self._successor, self.config, self._num_updates, loss
    )
    return {'loss': loss}
