"""DualDICE: min over f, max over w, single steps in turn."""

import dataclasses

from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import neural_dice


@dataclasses.dataclass(frozen=True)
class DualDICEConfig(neural_dice.NeuralDICEConfig):
  """Rate and convex function of DualDICE.

  Attributes:
    dual_dice_learning_rate: Learning rate of DualDICE's f and w.
    dual_dice_power: Power p of DualDICE's convex function |w|^p / p.
  """

  dual_dice_learning_rate: float = ranges.positive(5e-5)
  dual_dice_power: float = ranges.inside(1, 1_000, 2.0)


class DualDICE(neural_dice.NeuralDICE):
  """Networks of tanh, for stability."""

  NAME = 'dual_dice'
  Config = DualDICEConfig
  ACTIVATION = 'tanh'

  def _learning_rate(self):
    return self.config.dual_dice_learning_rate

  def _loss(self, values, not_done):
    return losses.dual_dice_objective(
        values, self.problem.gamma, not_done, self.config.dual_dice_power
    )
