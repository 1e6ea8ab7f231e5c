"""What the tabular estimators share: counts of the data, ratios as a table."""

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import finite
from srdice_tf.estimators import base
from srdice_tf.estimators import problem as problem_lib

_MAX_ENTRIES = 200_000_000
# Below it a mass is rounding.
_NO_MASS = 1e-12


class Counts:
  """A data set of a finite MDP, counted.

  Attributes:
    states: [n] of the transitions.
    pairs: [n] s * A + a of the transitions.
    weights: [n] of the transitions, with mean 1.
    distribution: [S, A] d_D, the share of each pair.
    transition: [S, A, S] empirical probabilities; what terminated is missing
      from the sums of its rows, and rows of pairs without data are zeros.
    rewards: [S, A] mean rewards, 0 for pairs without data.
    start: [S] distribution of the start states.
    policy: [S, A] probabilities of the target policy.
  """

  def __init__(self, problem: problem_lib.Problem, discounted: bool = False):
    """Counts.

    Args:
      problem: with integer states and actions.
      discounted: weigh step t of an episode by gamma^t, transitions and start
        states alike.

    Raises:
      UserError: if these are no data of a finite MDP.
    """
    dataset = problem.dataset
    index = tf.range(problem.size)
    states, after = dataset.states(index), dataset.next_states(index)
    self.shape = _shape(problem, states)
    num_states, num_actions = self.shape
    self.states = _integers(states, num_states, 'states')  # [n]
    after = _integers(after, num_states, 'next states')  # [n]
    actions = _integers(dataset.actions, num_actions, 'actions')  # [n]
    starts = dataset.initial_states(tf.range(problem.num_starts))
    starts = _integers(starts, num_states, 'start states')  # [m]
    self.policy = _policy(problem, states.dtype, self.shape)
    self.pairs = self.states * num_actions + actions  # [n]
    self.weights = np.ones(problem.size)  # [n]
    if discounted:
      self.weights = problem.gamma ** dataset.steps.numpy().astype(np.float64)
      self.weights /= self.weights.mean()
      starts = starts[dataset.episodes.numpy()]  # [n]
    start_weights = self.weights if discounted else np.ones(len(starts))
    self.start = np.bincount(starts, start_weights, num_states)
    self.start /= self.start.sum()
    self._sum(after, dataset.not_done.numpy(), dataset.rewards.numpy())

  def _sum(self, after, not_done, rewards):
    num_states, num_actions = self.shape
    size = num_states * num_actions
    totals = np.bincount(self.pairs, self.weights, size)  # [S A]
    self.distribution = (totals / len(self.pairs)).reshape(self.shape)
    self.rewards = np.bincount(self.pairs, self.weights * rewards, size)
    self.rewards = _divide(self.rewards, totals).reshape(self.shape)
    moves = np.bincount(
        self.pairs * num_states + after,
        self.weights * not_done,
        size * num_states,
    ).reshape(size, num_states)
    self.transition = _divide(moves, totals[:, None]).reshape(
        *self.shape, num_states
    )

  def missing(self, gamma: float, transition=None) -> tuple[int, float]:
    """Returns how many pairs of pi's support the data lack, and their mass.

    Args:
      gamma: discount.
      transition: [S, A, S] of the MDP, if it is known. If not, all that would
        come after such a pair is unknown too and counts to its mass.
    """
    known = self.transition if transition is None else transition
    visits = finite.occupancy(known, self.policy, self.start, gamma)
    visits = np.where(self.distribution > 0.0, 0.0, visits)  # [S, A]
    mass = visits.sum() / (1.0 if transition is not None else 1.0 - gamma)
    return int(np.sum(visits > _NO_MASS)), float(mass)


class TabularEstimator(base.RatioEstimator):
  """A ratio for each pair (s, a), solved for in one step.

  The ratio of a pair that is not in the data is NaN: it is not defined.
  """

  def __init__(self, name, problem, config, seed, discounted=False, mdp=None):
    """Counts the data.

    Args:
      name: of the estimator.
      problem: with integer states and actions.
      config: hyper-parameters.
      seed: of everything random.
      discounted: whether to weigh step t of an episode by gamma^t.
      mdp: the finite.FiniteMDP, where its transitions replace the empirical.

    Raises:
      UserError: if the data are not those of a finite MDP, or lack pairs that
        the target policy visits.
    """
    super().__init__(name, problem, config, seed)
    self._counts = Counts(problem, discounted)
    self._transition = self._counts.transition
    if mdp is not None:
      self._transition = mdp.transition
    known = None if mdp is None else mdp.transition
    self._missing = self._counts.missing(problem.gamma, known)
    self._check_support()
    self._table = tf.Variable(np.zeros(self._counts.shape), name='ratios')
    self._pairs = tf.constant(self._counts.pairs)  # [n]
    self._weights = tf.constant(self._counts.weights)  # [n]
    self.phases = (base.Phase(name, 1, self._solve_step, compiled=False),)

  def _check_support(self):
    number, mass = self._missing
    if number and mass > self.config.tabular_missing_mass:
      raise errors.UserError(
          f'--algo={self.name}: the data lack {number} of the pairs (s, a) that'
          f' the target policy visits; they hold {mass:.3g} of the mass of'
          ' d_pi. Collect more, or allow it with --tabular_missing_mass.'
      )

  def _solve(self) -> np.ndarray:
    """Returns the ratios [S, A]."""
    raise NotImplementedError

  def _solve_step(self):
    covered = self._counts.distribution > 0.0  # [S, A]
    self._table.assign(np.where(covered, self._solve(), np.nan))
    return {'mean_ratio': tf.reduce_mean(self.ratios())}

  def ratio(self, inputs):
    num_states = self._counts.shape[0]
    return self.density_ratio(
        tf.argmax(inputs[:, :num_states], axis=1),
        tf.argmax(inputs[:, num_states:], axis=1),
    )

  def density_ratio(self, states, actions):
    num_states, num_actions = self._counts.shape
    states = _integers(states, num_states, 'states')
    actions = _integers(actions, num_actions, 'actions')
    return self._of_pairs(states * num_actions + actions)

  def ratios(self):
    return self._of_pairs(self._pairs) * self._weights

  def _of_pairs(self, pairs) -> tf.Tensor:
    return tf.gather(tf.reshape(self._table, [-1]), pairs)

  def details(self):
    number, mass = self._missing
    details = {'missing_pairs': number, 'missing_mass': mass}
    mdp = self.problem.mdp
    if mdp is not None:
      policy, gamma = self._counts.policy, self.problem.gamma
      exact = mdp.density_ratio(policy, gamma, self._counts.distribution)
      errors_of_pairs = np.square(self._table.numpy() - exact)  # [S, A]
      details['exact_value'] = mdp.value(policy, gamma)
      details['ratio_mse'] = float(np.nanmean(errors_of_pairs))
    return details


def _shape(problem, states) -> tuple[int, int]:
  actions = problem.dataset.actions
  for name, values in (('states', states), ('actions', actions)):
    if not (values.dtype.is_integer and values.shape.rank == 1):
      kind = f'{values.dtype.name} of shape {values.shape[1:]}'
      raise errors.UserError(
          f'tabular estimators: the {name} are {kind}, expected integers.'
      )
  inputs = problem.inputs
  shape = inputs.num_state_values, inputs.num_action_values
  if shape[0] ** 2 * shape[1] > _MAX_ENTRIES:
    raise errors.UserError(
        f'tabular estimators: {shape[0]:,} states and {shape[1]:,} actions are'
        ' too many for matrices.'
    )
  return shape


def _integers(values, size: int, name: str) -> np.ndarray:
  """Returns the values as int64; an error if they are not in 0..size-1."""
  values = np.asarray(values).astype(np.int64)
  outside = values[(values < 0) | (values >= size)]
  if outside.size:
    raise errors.UserError(
        f'the data set: {outside.size} {name} are outside of 0 to {size - 1},'
        f' such as {outside[0]}.'
    )
  return values


def _policy(problem, dtype, shape) -> np.ndarray:
  table = problem.actions.parameters(tf.range(shape[0], dtype=dtype))
  if table.shape != shape or not table.dtype.is_floating:
    raise errors.UserError(
        'tabular estimators: the target policy gives no probabilities; name a'
        ' policy with a distribution.'
    )
  table = table.numpy().astype(np.float64)  # [S, A]
  return table / table.sum(axis=1, keepdims=True)


def _divide(sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
  return np.nan_to_num(finite.divide(sums, np.broadcast_to(totals, sums.shape)))
