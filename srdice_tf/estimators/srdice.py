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
    self._start_successors = None
    self._mean_reward_features = None
    self.phases = (
        *representation.phases,
        base.Phase('srdice', self.config.updates, self._step, self._prepare),
    )

  def _prepare(self):
    self._representation.prepare()
    rng = base.generator(0, 'start_pool')
    self._start_successors = self._representation.start_successors(
        self.config.start_pool, rng
    )  # [P, F]
    self._mean_reward_features = linear.mean_product(
        self._representation.features, self.problem.dataset.rewards
    )  # [F]

  def _step(self):
    size = self.config.ratio_batch_size
    features, starts = self._representation.features, self._start_successors
    index = self.rng.uniform([size], 0, features.shape[0], tf.int32)
    start_index = self.rng.uniform([size], 0, starts.shape[0], tf.int32)
    batch = tf.gather(features, index)  # [B, F]
    # The start term is linear in psi: the mean of the minibatch will do.
    start_mean = tf.sparse.segment_mean(
        starts, start_index, tf.zeros([size], tf.int32), num_segments=1
    )  # [1, F]
    loss = base.gradient_step(
        self._optimizer,
        self._ratio.trainable_variables,
        lambda: losses.srdice_loss(
            self._ratio(batch), self._ratio(start_mean), self.problem.gamma
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
    starts = tf.reduce_mean(tf.cast(self._start_successors, tf.float64), 0)
    w = squares.solve((1.0 - self.problem.gamma) * starts)  # [F]
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
    starts = tf.reduce_mean(tf.cast(self._start_successors, tf.float64), 0)
    direct = (1.0 - self.problem.gamma) * tf.tensordot(
        reward_weights, starts, 1
    )
    return {
        'closed_form': float(value),
        'least_squares_deep_sr': float(direct),
        'theorem_4_difference': float(value - direct),
    }
