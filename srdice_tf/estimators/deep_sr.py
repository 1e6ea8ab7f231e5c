"""Deep SR: the value from psi and weights that fit the reward."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import representation as representation_lib
from srdice_tf.networks import encoder


class DeepSR(base.Estimator):
  """(1-gamma) E[w.psi(s0, a0)] with w fitted to r by Adam."""

  def __init__(self, representation: representation_lib.Representation, seed):
    super().__init__(
        'deep_sr', representation.problem, representation.config, seed
    )
    self._representation = representation
    self._product = encoder.FeatureProduct(self.config, self.init_rng)
    self._optimizer = base.ratio_adam(self.config)
    self.phases = (
        *representation.phases,
        base.Phase(
            'deep_sr',
            self.config.updates,
            self._step,
            self._prepare,
            cost=base.feature_step_cost(self.config),
        ),
    )

  def _prepare(self):
    self._representation.prepare_starts()
    self._product.set_unit(self._representation.mean_feature)

  def _step(self):
    features = self._representation.features
    index = self.rng.uniform(
        [self.config.ratio_batch_size], 0, features.shape[0], tf.int32
    )
    batch = tf.gather(features, index)  # [B, F]
    rewards = tf.gather(self.problem.dataset.rewards, index)  # [B]
    loss = base.gradient_step(
        self._optimizer,
        self._product.trainable_variables,
        lambda: losses.mean_squared_error(self._product(batch), rewards),
    )
    return {'loss': loss}

  def estimate(self):
    value = tf.tensordot(
        self._product.effective(), self._representation.mean_start_successor, 1
    )
    return tf.cast((1.0 - self.problem.gamma) * value, tf.float32)
