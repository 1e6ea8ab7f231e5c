"""How the true value of a policy is known, as fields of a task."""

import dataclasses
import math

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import results

ROLL_OUTS, NO_TRUTH = 'rollouts', 'none'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruthFields:
  """How true values are known.

  Attributes:
    truth: rollouts (exact in finite MDPs), none, for an evaluation without a
      simulator, or the target policy's value itself, a number per step.
    truth_episodes: roll-outs for each true value; 0: until its standard error
      is below 0.5% (`rollouts.measure`); the paper's form: 100.
    truth_max_episodes: the most roll-outs where their number is not given.
    keep_time_limit: cut roll-outs at the environment's time limit, as in the
      paper; if not, they go on until gamma^t is negligible.
  """

  truth: str = ROLL_OUTS
  truth_episodes: int = ranges.at_least(0, 0)
  truth_max_episodes: int = ranges.at_least(2, 1000)
  keep_time_limit: bool = False

  def __post_init__(self):
    ranges.check(self)
    if self.truth_episodes == 1:
      raise errors.UserError(
          'truth_episodes',
          1,
          'one roll-out has no standard error; expected 0 (as many as it takes)'
          ' or at least 2',
      )
    if self.truth not in (ROLL_OUTS, NO_TRUTH):
      _number(self.truth)

  @property
  def has_rollouts(self) -> bool:
    """Whether true values are to be measured."""
    return self.truth == ROLL_OUTS

  def known_truth(self, gamma: float) -> results.PolicyValue | None:
    """Returns the value that the user knows; None if there is no such."""
    if self.truth in (ROLL_OUTS, NO_TRUTH):
      return None
    return results.PolicyValue.given(_number(self.truth), gamma)


def _number(text: str) -> float:
  try:
    value = float(text)
  except ValueError:
    value = math.nan
  if not math.isfinite(value):
    raise errors.UserError(
        'truth',
        text,
        f'expected {ROLL_OUTS}, {NO_TRUTH}, or the value as a number per step',
    )
  return value
