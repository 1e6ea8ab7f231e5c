"""Deep SR: the value from psi and weights that fit the reward."""

import dataclasses

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.networks import encoder
from srdice_tf.networks import layers


@dataclasses.dataclass(frozen=True)
class DeepSRConfig(config_fields.FeatureWeights):
  """How w is learned; RepresentationConfig has phi and psi."""


class DeepSR(interface.Estimator):
  """(1-gamma) E[w.psi(s0, a0)] with w fitted to r by Adam."""

  NAME = 'deep_sr'
  Config = DeepSRConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._representation = shared.representation
    self._product = encoder.FeatureProduct(config, self.init_rng)
    self._optimizer = layers.adam(config.weight_rate, config.weight_epsilon)
    self.phases = (
        *self._representation.phases,
        phases.Phase(
            self.NAME,
            config.updates,
            self._step,
            self._prepare,
            cost=config.step_cost,
        ),
    )

  @classmethod
  def shared_parts(cls, config):
    return ('representation',)

  def _prepare(self):
    self._representation.prepare_starts()
    self._product.set_unit(self._representation.mean_feature)

  def _step(self):
    batch, rewards = self._representation.sample_features(
        self.config.ratio_batch_size, self.rng
    )  # [B, F] and [B]
    loss = gradient_steps.gradient_step(
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
