"""95% intervals: by bootstrap over episodes, and over seeds.

Transitions of one episode are not independent, so whole episodes are drawn.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
MIN_DRAWS = 10
_QUANTILE = 1.6449  # Of the normal distribution, at 0.95.


class Interval(NamedTuple):
  """Where the value lies, judged by the spread of the data.

  It does not include the bias of the estimator.
  """

  low: float
  high: float
  standard_error: float


def of_draws(
    estimate: float, draws: np.ndarray, num_units: int
) -> Interval | None:
  """Returns the estimate +- t standard errors.

  The standard error is that of the middle 90% of the draws, so that a few
  nearly singular draws do not change it.

  Args:
    estimate: from all data.
    draws: [R] values from resampled data; those not finite are left out.
    num_units: number of episodes, or groups of episodes, to draw from.

  Returns:
    None if there are too few draws or units.
  """
  draws = np.asarray(draws, np.float64)
  draws = draws[np.isfinite(draws)]
  if len(draws) < MIN_DRAWS or num_units < 2 or not math.isfinite(estimate):
    return None
  low, high = np.quantile(draws, [0.05, 0.95])
  # A bootstrap of n units has the variance with n, not with n - 1.
  error = (high - low) / (2.0 * _QUANTILE)
  error *= math.sqrt(num_units / (num_units - 1))
  return around(estimate, error, num_units - 1)


def around(estimate: float, error: float, degrees: float) -> Interval:
  """Returns the interval of Student's t with these degrees of freedom."""
  half = float(stats.t.ppf(0.5 + LEVEL / 2.0, degrees)) * error
  return Interval(estimate - half, estimate + half, error)


def of_ratios(
    ratios,
    rewards,
    episodes,
    num_draws: int,
    seed: int = 0,
    count: Callable[[int], Iterable[int]] = range,
) -> Interval | None:
  """Returns the interval of E[ratio r] for the ratios as fitted.

  It does not include how much the fit itself varies; the spread over seeds
  does.

  Args:
    ratios: [n].
    rewards: [n].
    episodes: [n] the number of each transition's episode.
    num_draws: number of bootstrap draws.
    seed: seed of the draws.
    count: counts the draws.
  """
  products = np.asarray(ratios, np.float64) * np.asarray(rewards, np.float64)
  return of_terms(products, episodes, None, num_draws, seed, count)


def of_terms(
    terms: np.ndarray,
    episodes: np.ndarray,
    starts: np.ndarray | None,
    num_draws: int,
    seed: int = 0,
    count: Callable[[int], Iterable[int]] = range,
) -> Interval | None:
  """Returns the interval of E[term], plus E[start] over episodes.

  Args:
    terms: [n] of the transitions.
    episodes: [n] the number of each transition's episode.
    starts: [m] of the episodes by their number, also of those without
      transitions; None for 0.
    num_draws: number of bootstrap draws.
    seed: seed of the draws.
    count: counts the draws.
  """
  if starts is None:
    _, episodes = np.unique(episodes, return_inverse=True)
    starts = np.zeros(episodes.max() + 1)
  size = max(int(episodes.max()) + 1, len(starts))
  sums = np.bincount(episodes, terms, size)  # [E]
  counts = np.bincount(episodes, minlength=size).astype(np.float64)  # [E]
  rng = np.random.default_rng(seed)
  draws = np.zeros(num_draws)
  for number in count(num_draws):  # One by one, to save memory.
    weights = rng.multinomial(size, np.full(size, 1.0 / size))  # [E]
    begun = weights[: len(starts)]  # [m]
    with np.errstate(invalid='ignore'):  # Without transitions it is left out.
      draws[number] = (weights @ sums) / (weights @ counts)
      draws[number] += begun @ starts / begun.sum()
  return of_draws(float(terms.mean() + starts.mean()), draws, size)


def over_seeds(
    estimates: Sequence[float], limits: Sequence[tuple[float, float] | None]
) -> tuple[float, float] | None:
  """Returns low and high of the mean over runs with different seeds.

  Each run has its own data, so the spread of the estimates includes that of
  data and training. A single run keeps its own limits.

  Args:
    estimates: the estimates of the runs.
    limits: low and high of each run; None if it has none.

  Returns:
    None if there is no interval, or a run diverged.
  """
  if len(estimates) == 1:
    return limits[0] and tuple(limits[0])
  if not np.isfinite(estimates).all():
    return None
  error = float(stats.sem(estimates))
  return around(float(np.mean(estimates)), error, len(estimates) - 1)[:2]
