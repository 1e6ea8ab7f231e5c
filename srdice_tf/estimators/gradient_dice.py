"""GradientDICE: min over w, max over f and u, single steps in turn."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import neural_dice


class GradientDICE(neural_dice.NeuralDICE):
  """With a penalty, by the scalar u, that keeps the mean ratio at 1."""

  def __init__(self, problem, config, seed):
    super().__init__(
        'gradient_dice', problem, config, seed, 'relu',
        config.gradient_dice_learning_rate,
    )
    self._u = tf.Variable(0.0, name='u')
    self._u_optimizer = base.ratio_adam(
        config, config.gradient_dice_u_learning_rate
    )

  def _step(self):
    batch, starts = self._sample()

    def objective():
      return losses.gradient_dice_objective(
          self._values(batch, starts),
          self._u,
          self.problem.gamma,
          batch.not_done,
          self.config.gradient_dice_norm_weight,
          self.config.gradient_dice_f_penalty,
      )

    # No term has both f and u: their order does not matter.
    loss = base.gradient_step(
        (self._f_optimizer, self._u_optimizer),
        (self._f.trainable_variables, [self._u]),
        lambda: -objective(),
    )
    with tf.control_dependencies([loss]):
      value = base.gradient_step(
          self._w_optimizer, self._w.trainable_variables, objective
      )
      u = self._u + 0.0
    return {'objective': value, 'u': u}
