"""How much of what a policy does is like something in the data.

The actions of the policy at logged states are compared with logged actions at
similar states: by the distance of the pair (s, a) to the nearest logged pair.
Logged pairs have such distances too, to pairs of other episodes; an action is
far if its distance is beyond 99% of theirs. So the behaviour policy itself has
about 1% of far actions, and a policy that does what was never tried has all.
"""

from collections.abc import Callable
import dataclasses

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy

from srdice_tf.data import datasets
from srdice_tf.policies import action_checks
from srdice_tf.policies import actions

NUM_QUERIES = 5_000
NUM_LOGGED = 20_000
QUANTILE = 0.99
_CHUNK = 512
_MIN_GROUPS = 10  # With fewer episodes, pieces of them are held apart.
_POOLED = 8  # Pixels of a frame, each way, after pooling.
_ROUNDING = 1e-5
_NARROW = 1e-3  # Of the range: logged actions that hardly differ.


@dataclasses.dataclass(frozen=True)
class ActionSupport:
  """How many actions of a policy are far from any logged one.

  Attributes:
    far_share: of its actions at logged states.
    logged_share: of the logged actions themselves, by the same measure.
    num_queries: states at which its actions were looked at.
    num_logged: logged pairs that they were compared with.
    distance_ratio: the median of its distances by that of logged ones. Where
      logged actions are widely spread, none is far, but this is above 1. None
      where pairs are counted.
  """

  far_share: float
  logged_share: float
  num_queries: int
  num_logged: int
  distance_ratio: float | None = None


def of_policy(
    dataset: datasets.Dataset, policy: tf_policy.TFPolicy, seed: int = 0
) -> ActionSupport:
  """Returns the support that data give to a policy; it takes seconds.

  Args:
    dataset: with finite numbers.
    policy: that is to be evaluated, with its noise if it has some.
    seed: of the states that are looked at and of the actions there.

  Raises:
    UserError: if the policy gives NaN or impossible actions.
  """
  rng = np.random.default_rng(seed)
  size = min(dataset.num_transitions, NUM_QUERIES)
  index = np.sort(rng.choice(dataset.num_transitions, size, replace=False))
  drawn = _draw(dataset, policy, index, seed)
  return of_actions(dataset, index, drawn, policy.action_spec, seed)


def _draw(dataset, policy, index: np.ndarray, seed: int) -> np.ndarray:
  """Returns one action [Q, ...] at the state of each of the transitions [Q]."""
  target = actions.target_actions(policy)
  generator = tf.random.Generator.from_seed(seed)
  parts = []
  with action_checks.one_line():
    for begin in range(0, len(index), _CHUNK):
      part = tf.constant(index[begin : begin + _CHUNK], tf.int32)
      parameters = target.state_parameters(dataset, part)
      target.check(parameters)
      parts.append(target.sample(parameters, generator).numpy())
  drawn = np.concatenate(parts)
  action_checks.check(
      drawn, policy.action_spec, action_checks.name_of(policy)
  )
  return drawn


def of_actions(
    dataset: datasets.Dataset,
    index: np.ndarray,
    drawn: np.ndarray,
    action_spec=None,
    seed: int = 0,
) -> ActionSupport:
  """Returns the support of any actions at states of the data.

  Args:
    dataset: with finite numbers.
    index: [Q] transitions, ascending.
    drawn: [Q, ...] the actions of a policy at their states.
    action_spec: whose bounds tell how much a difference is where the data have
      always the same action.
    seed: of the logged pairs that they are compared with.
  """
  logged = dataset.actions.numpy()
  if dataset.observations.rows.dtype.is_integer and _is_single(dataset):
    return _of_finite_states(dataset, index, drawn)
  groups = _groups(dataset)
  rng = np.random.default_rng([seed, 1])
  reference = np.arange(dataset.num_transitions)
  if len(reference) > NUM_LOGGED:
    reference = np.sort(rng.choice(reference, NUM_LOGGED, replace=False))
  known = _flat_states(dataset, reference)
  scale_states = _state_scaling(known, _has_frames(dataset))
  scale_actions = _action_scaling(logged[reference], action_spec)
  known = scale_states(known), scale_actions(logged[reference])
  states = scale_states(_flat_states(dataset, index))
  distances = np.zeros((2, len(index)))
  is_odd = rng.permutation(groups.max() + 1) % 2 == 1
  for fold in (False, True):  # Each half against the other one.
    there = is_odd[groups[reference]] != fold
    here = is_odd[groups[index]] == fold
    distances[:, here] = _nearest(
        states[here],
        [scale_actions(values[here]) for values in (drawn, logged[index])],
        *(part[there] for part in known),
    )
  far = distances > _limit(distances[1])  # [2, Q]
  ours, theirs = np.median(distances, axis=1) + _ROUNDING
  return ActionSupport(
      far_share=float(far[0].mean()),
      logged_share=float(far[1].mean()),
      num_queries=len(index),
      num_logged=len(reference),
      distance_ratio=float(ours / theirs) if np.isfinite(theirs) else None,
  )


def _limit(distances: np.ndarray) -> float:
  """Returns the distance beyond which pairs are far, of logged ones [Q]."""
  finite = distances[np.isfinite(distances)]
  if not finite.size:
    return 0.0
  limit = np.quantile(finite, QUANTILE, method='higher')
  return float(limit) * (1.0 + _ROUNDING) + _ROUNDING


def _is_single(dataset) -> bool:
  return dataset.observations.rows.shape.rank == 1


def _of_finite_states(dataset, index, drawn) -> ActionSupport:
  """Returns the support where pairs can be counted: all logged ones are."""
  states = dataset.observations.rows.numpy()[dataset.positions.numpy()]
  logged = dataset.actions.numpy()
  width = max(logged.max(), drawn.max()) + 1
  is_far = ~np.isin(states[index] * width + drawn, states * width + logged)
  return ActionSupport(float(is_far.mean()), 0.0, len(index), len(states))


def _groups(dataset) -> np.ndarray:
  """Returns [n] numbers of groups, whose pairs are like those of no other."""
  groups = dataset.episodes.numpy()
  if dataset.num_initial_states >= _MIN_GROUPS:
    return groups
  size = -(-len(groups) // (2 * _MIN_GROUPS))
  return np.arange(len(groups)) // size


# States and actions are standardised, and count the same, however many numbers
# they have: else a policy's few actions would be lost among many observations.


def _state_scaling(states: np.ndarray, has_frames: bool) -> Callable:
  """Returns a function that standardises states [B, S]."""
  mean, deviation = states.mean(axis=0), states.std(axis=0)
  if has_frames:  # A rare bright pixel is not worth more.
    deviation = np.full_like(deviation, states.std())
  deviation[deviation == 0] = 1.0
  scale = deviation * np.sqrt(states.shape[1])
  return lambda values: (values - mean) / scale


def _action_scaling(logged: np.ndarray, action_spec) -> Callable:
  """Returns a function that standardises actions [B, A], not discrete ones."""
  if logged.ndim == 1:
    return lambda values: values
  mean = logged.mean(axis=0, dtype=np.float64)
  deviation = logged.std(axis=0, dtype=np.float64)
  scale = np.maximum(deviation, _NARROW * _range(action_spec))
  scale[scale == 0] = _NARROW
  scale *= np.sqrt(logged.shape[1])
  return lambda values: (values - mean) / scale


def _range(action_spec):
  """Returns the range of actions [A]; 0 if it is not known."""
  if action_spec is None:
    return 0.0
  size = np.ravel(np.asarray(action_spec.maximum - action_spec.minimum))
  return np.where(np.isfinite(size), size, 0.0)


def _has_frames(dataset) -> bool:
  rows = dataset.observations.rows
  return rows.dtype == tf.uint8 and rows.shape.rank > 2


def _flat_states(dataset, index: np.ndarray) -> np.ndarray:
  """Returns states [B, S] in float64; frames are pooled."""
  parts = []
  for begin in range(0, len(index), _CHUNK):
    states = dataset.states(tf.constant(index[begin : begin + _CHUNK]))
    if _has_frames(dataset) and states.shape.rank == 4:
      states = tf.image.resize(states, [_POOLED, _POOLED], 'area')
    parts.append(states.numpy().reshape(len(states), -1))
  return np.concatenate(parts).astype(np.float64)


def _nearest(states, values, known_states, known_values) -> np.ndarray:
  """Returns the distances [V, B] of pairs to the nearest of the known ones.

  A tree would look at almost all of them if states have 20 numbers or more;
  products of matrices are faster.

  Args:
    states: [B, S].
    values: V times actions there: [B, A], or discrete ones [B].
    known_states: [K, S].
    known_values: [K, A] or [K].
  """
  found = np.full((len(values), len(states)), np.inf)
  if not len(known_states):
    return found
  for begin in range(0, len(states), _CHUNK):
    part = slice(begin, begin + _CHUNK)
    of_states = _squares(states[part], known_states)  # [B, K]
    for row, actions_there in zip(found, values):
      squares = of_states + _squares(actions_there[part], known_values)
      row[part] = squares.min(axis=1)
  return np.sqrt(found)


def _squares(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
  """Returns squared distances [B, K] of [B, D] and [K, D].

  Discrete actions, [B] and [K], are infinitely far from other ones.
  """
  if rows.ndim == 1:
    return np.where(rows[:, None] == known, 0.0, np.inf)
  squares = rows @ (-2.0 * known.T)
  squares += np.square(known).sum(axis=1)
  squares += np.square(rows).sum(axis=1, keepdims=True)
  return np.maximum(squares, 0.0, out=squares)
