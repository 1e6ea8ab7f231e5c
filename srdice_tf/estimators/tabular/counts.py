"""A data set of a finite MDP, counted."""

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import finite
from srdice_tf.estimators import problems

_MAX_ENTRIES = 200_000_000
# A smaller mass is rounding error.
_NO_MASS = 1e-12


class Counts:
  """A data set of a finite MDP, counted.

  Attributes:
    states: [n] of the transitions.
    pairs: [n] s * A + a of the transitions.
    weights: [n] of the transitions, with mean 1.
    distribution: [S, A] d_D, the share of each pair.
    transition: [S, A, S] empirical probabilities; rows sum to less than 1 if
      some transitions are terminal, and to 0 for pairs without data.
    rewards: [S, A] mean rewards, 0 for pairs without data.
    start: [S] distribution of the start states.
    policy: [S, A] probabilities of the target policy.
  """

  def __init__(self, problem: problems.Problem, discounted: bool = False):
    """Counts the transitions of a problem.

    Args:
      problem: with integer states and actions.
      discounted: whether to weight step t of an episode, and its start state,
        by gamma^t.

    Raises:
      UserError: if the data are not those of a finite MDP.
    """
    loaded = problem.loaded
    states = problem.over_transitions(loaded.states)()  # [n]
    after = problem.over_transitions(loaded.next_states)()  # [n]
    self.shape = _shape(problem, states)
    num_states, num_actions = self.shape
    self.states = integers(states, num_states, 'states')  # [n]
    after = integers(after, num_states, 'next states')  # [n]
    actions = integers(problem.logged_actions, num_actions, 'actions')  # [n]
    starts = problem.start_states(tf.range(problem.num_starts))
    starts = integers(starts, num_states, 'start states')  # [m]
    self.policy = _policy(problem, states.dtype, self.shape)
    self.pairs = self.states * num_actions + actions  # [n]
    self.weights = np.ones(problem.size)  # [n]
    if discounted:
      self.weights = problem.gamma ** problem.steps.numpy().astype(np.float64)
      self.weights /= self.weights.mean()
      starts = starts[problem.episodes.numpy()]  # [n]
    start_weights = self.weights if discounted else np.ones(len(starts))
    self.start = np.bincount(starts, start_weights, num_states)
    self.start /= self.start.sum()
    self._sum(after, problem.not_done.numpy(), problem.rewards.numpy())

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
    """Returns how many pairs that pi visits have no data, and their mass.

    Args:
      gamma: discount.
      transition: [S, A, S] of the MDP, if it is known. If not, everything after
        such a pair is unknown too and counts as missing.
    """
    known = self.transition if transition is None else transition
    visits = finite.occupancy(known, self.policy, self.start, gamma)
    visits = np.where(self.distribution > 0.0, 0.0, visits)  # [S, A]
    mass = visits.sum() / (1.0 if transition is not None else 1.0 - gamma)
    return int(np.sum(visits > _NO_MASS)), float(mass)


def _shape(problem, states) -> tuple[int, int]:
  actions = problem.loaded.logged_actions
  for name, values in (('states', states), ('actions', actions)):
    if not (values.dtype.is_integer and values.shape.rank == 1):
      kind = f'{values.dtype.name} of shape {values.shape[1:]}'
      raise errors.at(
          'tabular estimators', f'the {name} are {kind}', 'expected integers'
      )
  inputs = problem.inputs
  shape = inputs.num_state_values, inputs.num_action_values
  if shape[0] ** 2 * shape[1] > _MAX_ENTRIES:
    raise errors.at(
        'tabular estimators',
        f'{shape[0]:,} states and {shape[1]:,} actions are too many for'
        ' matrices',
    )
  return shape


def integers(values, size: int, name: str) -> np.ndarray:
  """Returns the values as int64; an error if they are not in 0..size-1."""
  values = np.asarray(values).astype(np.int64)
  outside = values[(values < 0) | (values >= size)]
  if outside.size:
    raise errors.at(
        'the data set',
        f'{outside.size} {name} are outside of 0 to {size - 1}, such as'
        f' {outside[0]}',
    )
  return values


def _policy(problem, dtype, shape) -> np.ndarray:
  table = problem.actions.parameters(tf.range(shape[0], dtype=dtype))
  if table.shape != shape or not table.dtype.is_floating:
    raise errors.at(
        'tabular estimators',
        'the target policy gives no probabilities',
        'name a policy with a distribution',
    )
  table = table.numpy().astype(np.float64)  # [S, A]
  return table / table.sum(axis=1, keepdims=True)


def _divide(sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
  return np.nan_to_num(finite.divide(sums, np.broadcast_to(totals, sums.shape)))
