"""DualDICE: min over f, max over w, single steps in turn."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.networks import layers


class DualDICE(base.RatioEstimator):
  """Ratio w(s, a), a network of its own; tanh for stability."""

  def __init__(self, problem, config, seed):
    super().__init__('dual_dice', problem, config, seed)
    hidden = [config.num_features, config.num_features]
    size = problem.inputs.size
    self._f = layers.mlp(size, hidden, 1, self.init_rng, 'tanh')
    self._w = layers.mlp(size, hidden, 1, self.init_rng, 'tanh')
    rate, epsilon = config.dual_dice_learning_rate, config.adam_epsilon
    self._f_optimizer = layers.adam(rate, epsilon)
    self._w_optimizer = layers.adam(rate, epsilon)
    self.phases = (base.Phase('dual_dice', config.updates, self._step),)

  def _objective(self, batch, starts):
    f = self._f(tf.concat([batch.inputs, batch.next_inputs, starts], 0))
    now, after, start = tf.split(f[:, 0], 3)  # [B] each
    return losses.dual_dice_objective(
        self._w(batch.inputs)[:, 0],
        now,
        after,
        start,
        self.problem.gamma,
        batch.not_done,
        self.config.dual_dice_power,
    )

  def _step(self):
    batch = self.problem.sample(self.config.ratio_batch_size, self.rng)
    starts = self.problem.sample_starts(self.config.ratio_batch_size, self.rng)
    f_variables = self._f.trainable_variables
    w_variables = self._w.trainable_variables
    with tf.GradientTape() as tape:
      objective = self._objective(batch, starts)
    f_gradients, w_gradients = tape.gradient(
        objective, [f_variables, w_variables]
    )
    self._f_optimizer.apply_gradients(zip(f_gradients, f_variables))
    ascent = [-gradient for gradient in w_gradients]
    self._w_optimizer.apply_gradients(zip(ascent, w_variables))
    return {'objective': objective}

  def ratio(self, inputs):
    return self._w(inputs)[:, 0]
