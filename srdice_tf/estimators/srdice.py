"""SR-DICE: density ratios from the successor representation (algorithm 1)."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import linear
from srdice_tf.estimators import representation as representation_lib
from srdice_tf.networks import encoder


class SRDICE(base.RatioEstimator):
  """Ratio w.phi(s, a), with w learned by Adam; the closed form beside it."""

  def __init__(self, representation: representation_lib.Representation, seed):
    super().__init__(
        'srdice', representation.problem, representation.config, seed
    )
    self._representation = representation
    self._ratio = encoder.LinearRatio(self.config.num_features)
    self._optimizer = base.ratio_adam(self.config)
    self._mean_start = None
    self._start_minibatches = None
    self._mean_reward_features = None
    self.phases = (
        *representation.phases,
        base.Phase(
            'srdice',
            self.config.updates,
            self._step,
            self._prepare,
            cost=base.feature_step_cost(self.config),
        ),
    )

  def _prepare(self):
    self._representation.prepare()
    rng = base.generator(0, 'start_pool')
    starts = self._representation.start_successors(
        self.config.start_pool, rng
    )  # [P, F]
    self._mean_start = tf.reduce_mean(tf.cast(starts, tf.float64), 0)  # [F]
    # The loss is linear in psi(s0, a0) and psi is frozen: of a minibatch only
    # the mean counts, and those of all runs of B pairs are one cumulative sum.
    order = tf.argsort(rng.uniform([starts.shape[0]]))
    self._start_minibatches = linear.window_means(
        tf.gather(starts, order), self.config.ratio_batch_size
    )  # [P, F]
    self._mean_reward_features = linear.mean_product(
        self._representation.features, self.problem.dataset.rewards
    )  # [F]

  def _step(self):
    size = self.config.ratio_batch_size
    features, starts = self._representation.features, self._start_minibatches
    index = self.rng.uniform([size], 0, features.shape[0], tf.int32)
    start_index = self.rng.uniform([1], 0, starts.shape[0], tf.int32)
    batch = tf.gather(features, index)  # [B, F]
    start = tf.gather(starts, start_index)  # [1, F]
    loss = base.gradient_step(
        self._optimizer,
        self._ratio.trainable_variables,
        lambda: losses.srdice_loss(
            self._ratio(batch), self._ratio(start), self.problem.gamma
        ),
    )
    return {'loss': loss}

  def ratio(self, inputs):
    return self._ratio(self._representation.encode(inputs))

  def ratios(self):
    self._representation.prepare()
    return self._ratio(self._representation.features)  # [n]

  def estimate(self):
    w = tf.cast(self._ratio.w, tf.float64)
    value = tf.tensordot(w, self._mean_reward_features, 1)
    return tf.cast(value / self.config.num_features, tf.float32)

  def closed_form(self) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns w* [F], for ratio = w*.phi, and its estimate, in float64."""
    squares = linear.LeastSquares(
        self._representation.features, self.config.ridge
    )
    w = squares.solve((1.0 - self.problem.gamma) * self._mean_start)  # [F]
    return w, tf.tensordot(w, self._mean_reward_features, 1)

  def details(self):
    """Returns the closed form's value and, from the same features, Deep SR's.

    Theorem 4: the two are equal.
    """
    _, value = self.closed_form()
    squares = linear.LeastSquares(
        self._representation.features, self.config.ridge
    )
    reward_weights = squares.solve(self._mean_reward_features)  # [F]
    direct = (1.0 - self.problem.gamma) * tf.tensordot(
        reward_weights, self._mean_start, 1
    )
    return {
        'closed_form': float(value),
        'least_squares_deep_sr': float(direct),
        'theorem_4_difference': float(value - direct),
    }
