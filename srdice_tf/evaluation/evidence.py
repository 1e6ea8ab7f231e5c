"""What speaks for or against an estimate, measured without the truth."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from srdice_tf import recommendation
from srdice_tf import results
from srdice_tf.evaluation import support

# Values that theorem 4, or in tables theorem 2, says are the same.
_SAME = ('least_squares_deep_sr', 'direct_sr')
_LAST = 0.25  # Of a curve.
_DEVIATION_SHARE = 0.1
_LEAST = 1e-12  # A smaller unit counts as this.


class LoggedFacts(NamedTuple):
  """What the evidence needs of the data.

  Attributes:
    rewards: [n].
    not_done: [n], 0 where a transition ends in a terminal state.
    gamma: discount.
    given: support that the data give to the policy; None if nobody looked.
  """

  rewards: np.ndarray
  not_done: np.ndarray
  gamma: float
  given: support.ActionSupport | None = None


def measure(
    result: results.MethodResult,
    others: Collection[results.MethodResult],
    logged: LoggedFacts,
    flow_noise: float | None = None,
) -> results.EstimateEvidence:
  """Returns the evidence on what one method found.

  Args:
    result: with its ratios, if the method has some.
    others: the methods of the evaluation. Those whose Q ran away do not count.
    logged: of the data.
    flow_noise: how large the flow residual is by chance alone.
  """
  deviation = float(np.std(np.asarray(logged.rewards, np.float64)))
  unit = scale(result.value, deviation)
  others = [other for other in others if np.isfinite(other.value)]
  others = recommendation.without_lost(
      others, lambda other: _relative_error(other, deviation)
  )
  values = [o.value for o in others if recommendation.are_apart(result, o)]
  differences = np.abs(np.array(values) - result.value) / unit
  return results.EstimateEvidence(
      **_of_ratios(result, logged),
      flow_excess=_quotient(result.flow_residual, flow_noise),
      theorem_4_gap=_theorem_gap(result, unit),
      disagreement=(
          float(abs(np.median(values) - result.value) / unit)
          if values
          else None
      ),
      nearest_method=float(differences.min()) if values else None,
      standard_error=_relative_error(result, deviation),
      drift=_drift(result, unit),
      **_of_support(logged.given),
      reward_deviation=deviation,
  )


def scale(value: float, deviation: float) -> float:
  """Returns what differences to a value are relative to.

  Near 0 it is a tenth of the standard deviation of the rewards.
  """
  return max(abs(value), _DEVIATION_SHARE * deviation, _LEAST)


def _relative_error(
    result: results.MethodResult, deviation: float
) -> float | None:
  return _quotient(result.standard_error, scale(result.value, deviation))


def _of_ratios(result: results.MethodResult, logged: LoggedFacts) -> dict:
  if result.ratios is None or result.diagnostics is None:
    return {}
  ratios = np.asarray(result.ratios, np.float64)  # [n]
  leaves = 1.0 - logged.gamma * np.asarray(logged.not_done, np.float64)  # [n]
  mass = float(np.mean(ratios * leaves)) / (1.0 - logged.gamma)
  return {
      'effective_share': result.diagnostics.effective_share,
      'largest_ratio': result.diagnostics.largest,
      'mass_gap': abs(mass - 1.0),
  }


def _of_support(found: support.ActionSupport | None) -> dict:
  if found is None:
    return {}
  return {
      'far_share': found.far_share,
      'action_distance': found.distance_ratio,
  }


def _theorem_gap(result: results.MethodResult, unit: float) -> float | None:
  same = [result.details[name] for name in _SAME if name in result.details]
  return abs(result.value - same[0]) / unit if same else None


def _drift(result: results.MethodResult, unit: float) -> float | None:
  """Returns the range of the last estimates of a curve, relative."""
  estimates = np.asarray(result.curve.estimates)  # [T]
  if len(estimates) < 2:
    return None
  count = max(2, round(_LAST * len(estimates)))
  return float(np.ptp(estimates[-count:])) / unit


def _quotient(value: float | None, unit: float | None) -> float | None:
  return value / unit if value is not None and unit else None
