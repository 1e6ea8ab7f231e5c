"""What an estimate is worth without the truth: flow residual and interval."""

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.estimators import base
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import flow
from srdice_tf.estimators import linear_srdice
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.evaluation import intervals
from srdice_tf.networks import inputs as inputs_lib

# What a flow residual was measured on.
FITTED, HELD_OUT, CROSS_FIT = 'fitted', 'held-out', 'cross-fit'


def split_episodes(
    num_episodes: int, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the numbers of the episodes to fit and of those held out.

  Raises:
    UserError: if one of the two would be empty.
  """
  num_held_out = round(fraction * num_episodes)
  if not 0 < num_held_out < num_episodes:
    raise errors.UserError(
        f'--holdout_fraction={fraction}: of {num_episodes} episodes that are'
        f' {num_held_out}; expected at least one held out and one to fit.'
    )
  order = np.random.default_rng([seed, base.stable_hash('holdout')])
  order = order.permutation(num_episodes)
  return np.sort(order[num_held_out:]), np.sort(order[:num_held_out])


class Scorer:
  """Scores the estimators of one run."""

  def __init__(
      self,
      problem: problem_lib.Problem,
      held_out: problem_lib.Problem | None,
      config: config_lib.Config,
      seed: int,
  ):
    """Takes what was fitted and, unless None, what was held out of it."""
    self._problem = problem
    self._held_out = held_out
    self._config = config
    self._seed = seed
    self._flow_test = None
    self._ratios = {}

  def scored_on(self, estimator: base.Estimator) -> str | None:
    """Returns what the flow residual is measured on; None without one."""
    # Test functions are of vectors, not of frames.
    has_vectors = isinstance(self._problem.inputs, inputs_lib.VectorInputs)
    if not isinstance(estimator, base.RatioEstimator) or not has_vectors:
      return None
    if self._held_out is not None:
      return HELD_OUT
    is_linear = isinstance(estimator, linear_srdice.LinearSRDICE)
    return CROSS_FIT if is_linear else FITTED

  def flow_residual(self, estimator: base.Estimator) -> float | None:
    """Returns the flow residual of the ratios as they are now."""
    scored_on = self.scored_on(estimator)
    if scored_on is None:
      return None
    if scored_on == CROSS_FIT:
      return estimator.flow_residual
    if self._flow_test is None:
      self._flow_test = flow.FlowTest(
          self._held_out or self._problem, self._config.linear_next_actions
      )
    return self._flow_test.residual(self._scored_ratios(estimator))

  def _scored_ratios(self, estimator) -> tf.Tensor:
    if self._held_out is None:
      return estimator.ratios()
    if estimator.name not in self._ratios:
      self._ratios[estimator.name] = self._held_out.over_data(estimator.ratio)
    return self._ratios[estimator.name]()

  def interval(self, estimator: base.Estimator) -> intervals.Interval | None:
    """Returns the 95% interval of the estimate; None without ratios."""
    num_draws = self._config.bootstrap_draws
    if not isinstance(estimator, base.RatioEstimator) or not num_draws:
      return None
    if isinstance(estimator, linear_srdice.LinearSRDICE):
      return intervals.of_draws(
          float(estimator.estimate()), estimator.draws, estimator.num_groups
      )
    dataset = self._problem.dataset
    return intervals.of_ratios(
        estimator.ratios().numpy(),
        dataset.rewards.numpy(),
        dataset.episodes.numpy(),
        num_draws,
        self._seed,
    )
