"""DualDICE: min over f, max over w, single steps in turn."""

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import neural_dice


class DualDICE(neural_dice.NeuralDICE):
  """Networks of tanh, for stability."""

  def __init__(self, problem, config, seed):
    super().__init__(
        'dual_dice', problem, config, seed, 'tanh',
        config.dual_dice_learning_rate,
    )

  def _step(self):
    batch, starts = self._sample()

    def objective():
      return losses.dual_dice_objective(
          self._values(batch, starts),
          self.problem.gamma,
          batch.not_done,
          self.config.dual_dice_power,
      )

    value = base.saddle_step(
        self._f_optimizer,
        self._f.trainable_variables,
        self._w_optimizer,
        self._w.trainable_variables,
        objective,
    )
    return {'objective': value}
