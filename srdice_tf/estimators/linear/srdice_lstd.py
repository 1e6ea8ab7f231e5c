"""Linear SR-DICE over what psi's network has learned."""

import dataclasses

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators.linear import grid_search
from srdice_tf.estimators.linear import linear_srdice


@dataclasses.dataclass(frozen=True)
class SRDICELstdConfig(config_fields.Ratios, config_fields.NextActions):
  """The ridge; RepresentationConfig has the training.

  Attributes:
    lstd_ridge: Ridge lambda of srdice_lstd, added to C as a share of the mean
      diagonal of G; 0 for that with the smallest flow residual on episodes
      that were not fitted.
  """

  lstd_ridge: float = ranges.at_least(0, 0.0)


class SRDICELstd(linear_srdice.LinearSRDICE):
  """Ratio w.h(s, a), where h is the last hidden layer of psi, and a constant.

  After phases 1 and 2 of SR-DICE, one pass over the data and one linear system.
  Its fixed point has no target network that lags behind. Without a ridge the
  constant would give the ratios the mass that they must have; the ridge, which
  is on the constant's weight too, leaves them near it.
  """

  NAME = 'srdice_lstd'
  Config = SRDICELstdConfig

  def __init__(self, problem, config, seed, shared):
    if not config.lstd_ridge and int(problem.episodes[-1]) == 0:
      raise errors.UserError(
          'lstd_ridge',
          config.lstd_ridge,
          'to choose one, each half of the episodes is scored with the fit of'
          ' the other, but the data set has only one episode; give one, such as'
          ' 1e-6',
      )
    super().__init__(problem, _linear(config), seed, shared)

  @classmethod
  def shared_parts(cls, config):
    return super().shared_parts(_linear(config))


def _linear(config: SRDICELstdConfig) -> linear_srdice.LinearSRDICEConfig:
  """Returns the same as a setting of linear SR-DICE."""
  return linear_srdice.LinearSRDICEConfig(
      estimate_samples=config.estimate_samples,
      bootstrap_draws=config.bootstrap_draws,
      linear_next_actions=config.linear_next_actions,
      select=grid_search.NONE if config.lstd_ridge else grid_search.FLOW,
      linear_features=grid_search.SUCCESSOR,
      linear_ridge=config.lstd_ridge,
  )
