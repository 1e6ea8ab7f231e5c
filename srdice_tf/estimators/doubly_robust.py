"""Doubly robust values: ratios correct the value function, and it them.

  DR = (1-gamma) E[Q(s0, a0)] + E_D[w (r + gamma not_done Q(s', a') - Q(s, a))]

Its error is a product of two: it vanishes if the ratios w are right, whatever Q
is, and if Q is right, whatever w is.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams
from srdice_tf.evaluation import intervals


@dataclasses.dataclass(frozen=True)
class DoublyRobustConfig(config_fields.Bootstrap, config_fields.NextActions):
  """Which ratios and values are combined, and how.

  Attributes:
    dr_ratio: Method whose density ratios dr takes, such as srdice_lstd,
      srdice_closed, srdice or linear_srdice.
    dr_value: Method whose value function dr takes.
    dr_folds: Parts of the episodes of dr: ratios and values of each are those
      that were fitted to the others; 1 fits and sums over all.
    dr_normalised: Whether dr divides its ratios by a number, so that they have
      the mass that they must have.
  """

  dr_ratio: str = 'srdice_lstd'
  dr_value: str = ranges.one_of(('deep_td',), 'deep_td')
  dr_folds: int = ranges.between(1, 10, 1)
  dr_normalised: bool = False


class _Part(NamedTuple):
  """Episodes that are summed over, with what was fitted for them.

  Attributes:
    problem: of these episodes.
    rows: [B] which transitions of the whole problem they have.
    starts: [K] which of its start states.
    ratio: the estimator of the ratios.
    value_function: Q.
  """

  problem: problems.Problem
  rows: np.ndarray
  starts: np.ndarray
  ratio: interface.Estimator
  value_function: tf.Module


class DoublyRobust(interface.Estimator):
  """Sums the temporal differences of Q under the density ratios."""

  NAME = 'dr'
  Config = DoublyRobustConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._parts, trained = [], []
    for part, made in self._make_parts():
      self._parts.append(part)
      trained += made
    # The results, in variables, so that checkpoints keep them.
    self._terms = _zeros(problem.size, 'terms')  # [n]
    self._ratios = _zeros(problem.size, 'ratios')  # [n]
    self._values = _zeros(problem.num_starts, 'start_values')  # [m]
    self.phases = (
        *dict.fromkeys(trained),
        phases.Phase(
            self.NAME, 1, self._sum_up, compiled=False, cost=100_000.0
        ),
    )

  @classmethod
  def shared_parts(cls, config):
    return ('value_function', 'flow_test')

  @classmethod
  def other_methods(cls, config):
    return (config.dr_ratio,)

  def _make_parts(self):
    """Yields each part, and the phases that train it."""
    problem, folds = self.problem, self.config.dr_folds
    if folds == 1:
      rows, starts = np.arange(problem.size), np.arange(problem.num_starts)
      yield self._part(problem, rows, starts, self.shared, '')
      return
    if problem.num_starts < folds:
      raise errors.UserError(
          'dr_folds', folds, f'there are {problem.num_starts} episodes'
      )
    episodes = problem.episodes.numpy()  # [n]
    numbers = np.arange(problem.num_starts)  # [m]
    for fold in range(folds):
      is_here = numbers % folds == fold  # [m]
      fitted = self.shared.on(problem.of_episodes(numbers[~is_here]))
      scored = problem.of_episodes(numbers[is_here])
      rows = np.flatnonzero(is_here[episodes])
      yield self._part(scored, rows, numbers[is_here], fitted, f'_fold{fold}')

  def _part(self, problem, rows, starts, shared, suffix: str):
    ratio = shared.method(self.config.dr_ratio)
    if not ratio.HAS_RATIOS:
      raise errors.UserError(
          'dr_ratio', self.config.dr_ratio, 'this method has no density ratios'
      )
    part = _Part(problem, rows, starts, ratio, shared.value_function)
    made = (*ratio.phases, *part.value_function.phases)
    return part, [p._replace(name=f'{p.name}{suffix}') for p in made]

  def _sum_up(self):
    """Computes all terms by one pass over the data."""
    ratios = np.zeros(self.problem.size)  # [n]
    differences = np.zeros(self.problem.size)  # [n]
    values = np.zeros(self.problem.num_starts)  # [m]
    for part in self._parts:
      ratios[part.rows] = part.ratio.ratio_of(part.problem)()
      found = self._q_of(part)
      differences[part.rows], values[part.starts] = found
    if self.config.dr_normalised:
      ratios *= self._mass_factor(ratios)
    self._ratios.assign(ratios)
    self._terms.assign(ratios * differences)
    self._values.assign(values)
    return {'mean_difference': tf.reduce_mean(differences)}

  def _q_of(self, part: _Part) -> tuple[np.ndarray, np.ndarray]:
    """Returns r + gamma not_done Q(s', a') - Q(s, a) [B], and Q(s0, a0) [K]."""
    problem = part.problem
    q = lambda inputs: part.value_function(inputs)[:, 0]  # [B]
    rng = random_streams.generator(self.seed, self.NAME)
    now = problem.over_data(q)().numpy()  # [B]
    if problem.has_vectors:
      after, start = self._expected(problem, q, rng)
    else:
      after = problem.over_transitions(
          lambda index: q(problem.loaded.next_inputs(index, rng))
      )()
      start = problem.map_rows(
          lambda index: q(problem.start_inputs(index, rng)),
          problem.num_starts,
      )
    not_done = problem.not_done.numpy().astype(np.float64)
    after = problem.gamma * not_done * after.numpy()
    return problem.rewards.numpy() + after - now, start.numpy()

  def _expected(self, problem, q, rng) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns E_a'[Q(s', a')] [n] and E_a0[Q(s0, a0)] [m]."""
    support = action_expectations.Expectations(
        problem, self.config.linear_next_actions, rng
    )
    mean = lambda index, supports: action_expectations.expected(
        lambda inputs: q(inputs)[:, None], supports(index)
    )[:, 0]
    return (
        problem.over_transitions(
            lambda index: mean(index, support.next_support)
        )(),
        problem.map_rows(
            lambda index: mean(index, support.start_support),
            problem.num_starts,
        ),
    )

  def _mass_factor(self, ratios: np.ndarray) -> float:
    """Returns the factor that gives the ratios the flow of the constant."""
    gamma, not_done = self.problem.gamma, self.problem.not_done.numpy()
    return (1.0 - gamma) / float(np.mean(ratios * (1.0 - gamma * not_done)))

  def estimate(self):
    start = (1.0 - self.problem.gamma) * tf.reduce_mean(self._values)
    return start + tf.reduce_mean(self._terms)

  def ratios(self):
    return tf.identity(self._ratios)

  def interval(self):
    """Returns the interval of the sums for ratios and values as fitted."""
    if not self.config.bootstrap_draws:
      return None
    return intervals.of_terms(
        self._terms.numpy(),
        self.problem.episodes.numpy(),
        (1.0 - self.problem.gamma) * self._values.numpy(),
        self.config.bootstrap_draws,
        self.seed,
        self.shared.count,
    )

  def flow_residual(self):
    """Returns that of the ratios."""
    if self.config.dr_folds == 1:
      return self._parts[0].ratio.flow_residual()
    flow_test = self.shared.flow_test
    if flow_test is None or self.shared.held_out is not None:
      return None
    residual = flow_test.residual(self.ratios())
    return interface.FlowScore(residual, interface.CROSS_FIT)

  def details(self):
    start = (1.0 - self.problem.gamma) * float(tf.reduce_mean(self._values))
    return {
        'value_term': start,
        'correction': float(tf.reduce_mean(self._terms)),
    }

  def lines(self):
    found = self.details()
    return [
        f'{self.NAME}: {self.config.dr_value} says {found["value_term"]:.5g},'
        f' the ratios of {self.config.dr_ratio} correct it by'
        f' {found["correction"]:+.5g}; for another reward it needs a Q of that'
        ' reward'
    ]


def _zeros(size: int, name: str) -> tf.Variable:
  return tf.Variable(tf.zeros([size], tf.float64), trainable=False, name=name)
