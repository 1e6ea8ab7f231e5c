"""GradientDICE: min over w, max over f and u, single steps in turn."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.networks import layers


class GradientDICE(base.RatioEstimator):
  """Ratio w(s, a), with a penalty that keeps its mean at 1."""

  def __init__(self, problem, config, seed):
    super().__init__('gradient_dice', problem, config, seed)
    hidden = [config.num_features, config.num_features]
    size = problem.inputs.size
    self._f = layers.mlp(size, hidden, 1, self.init_rng)
    self._w = layers.mlp(size, hidden, 1, self.init_rng)
    self._u = tf.Variable(0.0, name='u')
    rate, epsilon = config.gradient_dice_learning_rate, config.adam_epsilon
    self._f_optimizer = layers.adam(rate, epsilon)
    self._w_optimizer = layers.adam(rate, epsilon)
    self._u_optimizer = layers.adam(
        config.gradient_dice_u_learning_rate, epsilon
    )
    self.phases = (base.Phase('gradient_dice', config.updates, self._step),)

  def _objective(self, batch, starts):
    f = self._f(tf.concat([batch.inputs, batch.next_inputs, starts], 0))
    now, after, start = tf.split(f[:, 0], 3)  # [B] each
    return losses.gradient_dice_objective(
        self._w(batch.inputs)[:, 0],
        now,
        after,
        start,
        self._u,
        self.problem.gamma,
        batch.not_done,
        self.config.gradient_dice_norm_weight,
        self.config.gradient_dice_f_penalty,
    )

  def _step(self):
    batch = self.problem.sample(self.config.ratio_batch_size, self.rng)
    starts = self.problem.sample_starts(self.config.ratio_batch_size, self.rng)
    f_variables = self._f.trainable_variables
    w_variables = self._w.trainable_variables
    with tf.GradientTape() as tape:
      objective = self._objective(batch, starts)
    f_gradients, w_gradients, u_gradient = tape.gradient(
        objective, [f_variables, w_variables, self._u]
    )
    ascent = [-gradient for gradient in f_gradients]
    self._f_optimizer.apply_gradients(zip(ascent, f_variables))
    self._u_optimizer.apply_gradients([(-u_gradient, self._u)])
    self._w_optimizer.apply_gradients(zip(w_gradients, w_variables))
    return {'objective': objective, 'u': self._u + 0.0}

  def ratio(self, inputs):
    return self._w(inputs)[:, 0]
