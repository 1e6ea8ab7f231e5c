"""Deep SR: the value from psi and weights that fit the reward."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import representation as representation_lib
from srdice_tf.networks import layers


class DeepSR(base.Estimator):
  """(1-gamma) E[w.psi(s0, a0)] with w fitted to r by Adam."""

  def __init__(self, representation: representation_lib.Representation, seed):
    super().__init__(
        'deep_sr', representation.problem, representation.config, seed
    )
    self._representation = representation
    self._w = layers.dense(
        1, self.config.num_features, self.init_rng, use_bias=False
    )
    self._w.build([None, self.config.num_features])
    self._optimizer = base.ratio_adam(self.config)
    self._mean_start = None
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
    mean = self._representation.mean_start_successor  # [F]
    self._mean_start = tf.cast(mean, tf.float32)[None]  # [1, F]

  def _step(self):
    features = self._representation.features
    index = self.rng.uniform(
        [self.config.ratio_batch_size], 0, features.shape[0], tf.int32
    )
    batch = tf.gather(features, index)  # [B, F]
    rewards = tf.gather(self.problem.dataset.rewards, index)  # [B]
    loss = base.gradient_step(
        self._optimizer,
        self._w.trainable_variables,
        lambda: losses.mean_squared_error(self._w(batch)[:, 0], rewards),
    )
    return {'loss': loss}

  def estimate(self):
    return (1.0 - self.problem.gamma) * self._w(self._mean_start)[0, 0]
