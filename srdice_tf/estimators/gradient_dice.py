"""GradientDICE: min over w, max over f and u, single steps in turn."""

import dataclasses

import tensorflow as tf

from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import neural_dice
from srdice_tf.networks import layers


@dataclasses.dataclass(frozen=True)
class GradientDICEConfig(neural_dice.NeuralDICEConfig, config_fields.RatioAdam):
  """Rates and penalties of GradientDICE.

  Attributes:
    gradient_dice_learning_rate: Learning rate of GradientDICE's f and w.
    gradient_dice_u_learning_rate: Learning rate of GradientDICE's u.
    gradient_dice_norm_weight: Weight lambda of the normalisation in
      GradientDICE.
    gradient_dice_f_penalty: Whether GradientDICE's objective has the term
      -1/2 E[f^2].
  """

  gradient_dice_learning_rate: float = ranges.positive(1e-5)
  gradient_dice_u_learning_rate: float = ranges.positive(1e-2)
  gradient_dice_norm_weight: float = ranges.at_least(0, 1.0)
  gradient_dice_f_penalty: bool = True


class GradientDICE(neural_dice.NeuralDICE):
  """With a penalty, by the scalar u, that keeps the mean ratio at 1."""

  NAME = 'gradient_dice'
  Config = GradientDICEConfig
  ACTIVATION = 'relu'

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._u = tf.Variable(0.0, name='u')
    self._u_optimizer = layers.adam(
        config.gradient_dice_u_learning_rate, config.weight_epsilon
    )

  def _learning_rate(self):
    return self.config.gradient_dice_learning_rate

  def _adversaries(self):
    # No term has both f and u: their order does not matter.
    optimizers, variables = super()._adversaries()
    return (*optimizers, self._u_optimizer), (*variables, [self._u])

  def _loss(self, values, not_done):
    return -losses.gradient_dice_objective(
        values,
        self._u,
        self.problem.gamma,
        not_done,
        self.config.gradient_dice_norm_weight,
        self.config.gradient_dice_f_penalty,
    )

  def _step(self):
    loss = self._alternate()
    with tf.control_dependencies([loss]):
      return {'objective': -loss, 'u': self._u + 0.0}
