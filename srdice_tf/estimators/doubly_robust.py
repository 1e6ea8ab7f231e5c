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
from srdice_tf.evaluation import value_range


@dataclasses.dataclass(frozen=True)
class DoublyRobustConfig(config_fields.Bootstrap, config_fields.NextActions):
  """Which ratios and values are combined, and how.

  Attributes:
    dr_ratio: Method whose density ratios dr takes, such as srdice_lstd,
      srdice_closed, srdice or linear_srdice.
    dr_value: Method whose value function dr takes.
    dr_folds: Parts of the episodes of dr: ratios and values of each are those
      that were fitted to the others; 1 fits and sums over all.
    dr_range_ratios: Further methods with density ratios, separated by commas,
      whose sums the range of dr has to hold too.
    dr_normalised: Whether dr divides its ratios by a number, so that they have
      the mass that they must have.
  """

  dr_ratio: str = 'srdice_lstd'
  dr_value: str = ranges.one_of(('deep_td',), 'deep_td')
  dr_folds: int = ranges.between(1, 10, 1)
  dr_range_ratios: str = ''
  dr_normalised: bool = False

  def __post_init__(self):
    super().__post_init__()
    for field in ('dr_ratio', 'dr_range_ratios'):
      if DoublyRobust.NAME in _names(getattr(self, field)):
        raise errors.UserError(
            field, DoublyRobust.NAME, 'expected a method that has ratios of its'
            ' own, such as srdice_lstd'
        )

  @property
  def ratio_methods(self) -> tuple[str, ...]:
    """Names of all methods whose ratios are taken; the estimate's first."""
    names = self.dr_ratio, *_names(self.dr_range_ratios)
    return tuple(dict.fromkeys(names))


def _names(text: str) -> list[str]:
  """Returns the names that a text lists, separated by commas."""
  return [name.strip() for name in text.split(',') if name.strip()]


def _made(shared, name: str, field: str) -> interface.Estimator:
  """Returns the estimator of the ratios that a field names."""
  try:
    made = shared.method(name)
  except errors.UserError as error:
    reason = f'cannot be used here: {error}'
    raise errors.UserError(field, name, reason.removesuffix('.')) from error
  if not made.HAS_RATIOS:
    raise errors.UserError(field, name, 'this method has no density ratios')
  return made


class _Part(NamedTuple):
  """Episodes that are summed over, with what was fitted for them.

  Attributes:
    problem: of these episodes.
    rows: [B] which transitions of the whole problem they have.
    starts: [K] which of its start states.
    ratios: the estimators of the ratios, [J]; the first is of the estimate.
    value_function: Q, by K networks; the first is of the estimate.
  """

  problem: problems.Problem
  rows: np.ndarray
  starts: np.ndarray
  ratios: tuple[interface.Estimator, ...]
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
    self._factor = tf.Variable(
        tf.ones([], tf.float64), trainable=False, name='factor'
    )
    self._sums = tf.Variable(
        tf.zeros([0, 0], tf.float64),
        trainable=False,
        shape=[None, None],
        name='sums',
    )  # [K + 1, J + 1]
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
    fields = dict.fromkeys(config.ratio_methods, 'dr_range_ratios')
    return fields | {config.dr_ratio: 'dr_ratio'}

  def _make_parts(self):
    """Yields each part, and the phases that train it."""
    problem, folds = self.problem, self.config.dr_folds
    if folds == 1:
      rows, starts = np.arange(problem.size), np.arange(problem.num_starts)
      yield self._part(problem, rows, starts, self.shared, '')
      return
    if problem.num_starts < folds:
      raise errors.UserError(
          'dr_folds', folds,
          f'expected at most the number of episodes, {problem.num_starts}',
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
    methods = self.other_methods(self.config).items()
    ratios = tuple(_made(shared, *method) for method in methods)  # [J]
    for ratio in ratios:
      if suffix and not ratio.GENERALISES:
        raise errors.UserError(
            'dr_folds', self.config.dr_folds, f'expected 1 with {ratio.NAME},'
            ' which has no ratios of pairs that only other episodes have'
        )
    part = _Part(problem, rows, starts, ratios, shared.value_function)
    made = [phase for ratio in ratios for phase in ratio.phases]
    made += part.value_function.phases
    return part, [p._replace(name=f'{p.name}{suffix}') for p in made]

  def _sum_up(self):
    """Computes all terms by one pass over the data."""
    size, num_starts = self.problem.size, self.problem.num_starts
    ratios = np.zeros([size, len(self.config.ratio_methods)])  # [n, J]
    num_members = self.shared.hyperparameters['value_members']
    differences = np.zeros([size, num_members])  # [n, K]
    values = np.zeros([num_starts, num_members])  # [m, K]
    for part in self._parts:
      for column, ratio in zip(ratios.T, part.ratios):
        column[part.rows] = ratio.ratio_of(part.problem)()
      differences[part.rows], values[part.starts] = self._q_of(part)
    if self.config.dr_normalised:
      factors = [self._mass_factor(column) for column in ratios.T]  # [J]
      self._factor.assign(factors[0])
      ratios *= factors
    self._ratios.assign(ratios[:, 0])
    self._terms.assign(ratios[:, 0] * differences[:, 0])
    self._values.assign(values[:, 0])
    rewards = self.problem.rewards.numpy().astype(np.float64)  # [n]
    start = (1.0 - self.problem.gamma) * values.mean(0)  # [K]
    self._sums.assign(value_range.all_sums(ratios, differences, start, rewards))
    return {'mean_difference': differences[:, 0].mean()}

  def _q_of(self, part: _Part) -> tuple[np.ndarray, np.ndarray]:
    """Returns r + gamma not_done Q(s', a') - Q(s, a) [B, K], Q(s0, a0) [S, K].

    Each of all K networks.
    """
    problem, q = part.problem, part.value_function.of_members  # [B, K]
    rng = random_streams.generator(self.seed, self.NAME)
    now = problem.over_data(q)().numpy()  # [B, K]
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
    not_done = problem.not_done.numpy().astype(np.float64)  # [B]
    after = problem.gamma * not_done[:, None] * after.numpy()  # [B, K]
    return problem.rewards.numpy()[:, None] + after - now, start.numpy()

  def _expected(self, problem, q, rng) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns E_a'[Q(s', a')] [n, K] and E_a0[Q(s0, a0)] [m, K]."""
    support = action_expectations.Expectations(
        problem, self.config.linear_next_actions, rng
    )
    mean = lambda index, supports: action_expectations.expected(
        q, supports(index)
    )
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

  @property
  def sources(self):
    # Of folds, too, and without the ratios that only its range has.
    part = self._parts[0]
    trained = *part.ratios[0].phases, *part.value_function.phases
    return (*(phase.name for phase in trained), self.NAME)

  def estimate(self):
    start = (1.0 - self.problem.gamma) * tf.reduce_mean(self._values)
    return start + tf.reduce_mean(self._terms)

  def ratios(self):
    return tf.identity(self._ratios)

  def ratio_of(self, problem):
    """Returns that of its ratios; their mean, if folds have their own."""
    ratios = [part.ratios[0] for part in self._parts]
    compute = [ratio.ratio_of(problem) for ratio in ratios]
    return lambda: self._factor * tf.reduce_mean(
        [tf.cast(ratio(), tf.float64) for ratio in compute], axis=0
    )  # [n]

  def value_of(self, rewards):
    """Raises UserError: only ratios have it."""
    del rewards
    raise errors.UserError(
        'algo', self.NAME, 'for another reward it needs a Q of that reward;'
        f' the ratios of {self.config.dr_ratio} have a value for any'
    )

  def episode_contributions(self) -> np.ndarray:
    """Returns what each episode [m] adds to the estimate: its sum."""
    problem = self.problem
    terms = np.bincount(
        problem.episodes.numpy(), self._terms.numpy(), problem.num_starts
    )  # [m]
    start = (1.0 - problem.gamma) * self._values.numpy()  # [m]
    return terms / problem.size + start / problem.num_starts

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
      return self._parts[0].ratios[0].flow_residual()
    flow_test = self.shared.flow_test
    if flow_test is None:
      return None
    is_cross_fit = self.shared.held_out is None
    scored_on = interface.CROSS_FIT if is_cross_fit else interface.HELD_OUT
    residual = flow_test.residual(self._scored_ratios())
    return interface.FlowScore(residual, scored_on)

  def flow_noise(self):
    if self.config.dr_folds == 1:
      return self._parts[0].ratios[0].flow_noise()
    flow_test = self.shared.flow_test
    return flow_test and flow_test.noise(self._scored_ratios())

  def value_range(self) -> value_range.ValueRange:
    """Returns where the value may lie, by all that is at hand."""
    interval = self.interval()
    half = (interval.high - interval.low) / 2.0 if interval else 0.0
    return value_range.around(float(self.estimate()), half, self._sums.numpy())

  def details(self):
    start = (1.0 - self.problem.gamma) * float(tf.reduce_mean(self._values))
    found = self.value_range()
    return {
        'value_term': start,
        'correction': float(tf.reduce_mean(self._terms)),
        'range_low': found.low,
        'range_high': found.high,
        'range_disagreement': found.disagreement,
        **self._named_sums(),
    }

  def _named_sums(self) -> dict[str, float]:
    """Returns all sums, by the number of Q and the method of the ratios."""
    methods = *self.config.ratio_methods, ''  # [J + 1]
    sums = self._sums.numpy()  # [K + 1, J + 1]
    values = [f'q{k}' for k in range(len(sums) - 1)] + ['']  # [K + 1]
    return {
        '_'.join(filter(None, ('sum', value, method))): float(x)
        for value, row in zip(values, sums)
        for method, x in zip(methods, row)
        if np.isfinite(x)
    }

  def lines(self):
    found = self.details()
    sources = 'what other ratios and values say'
    if self.interval() is not None:
      sources = f'its bootstrap and {sources}'
    return [
        f'{self.NAME}: {self.config.dr_value} says {found["value_term"]:.5g},'
        f' the ratios of {self.config.dr_ratio} correct it by'
        f' {found["correction"]:+.5g}; for another reward it needs a Q of that'
        ' reward',
        f'{self.NAME}: range {found["range_low"]:.5g} to'
        f' {found["range_high"]:.5g}, from {sources}; no 95% interval',
    ]


def _zeros(size: int, name: str) -> tf.Variable:
  return tf.Variable(tf.zeros([size], tf.float64), trainable=False, name=name)
