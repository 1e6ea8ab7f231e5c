"""Finite MDPs with exact solutions, as data sets for estimators."""

import dataclasses

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf import finite
from srdice_tf.data import datasets
from srdice_tf.data import stacking
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import problems
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import actions
from srdice_tf.policies import probability_tables

GAMMA = 0.9


class FiniteProblem:
  """A finite MDP, a policy and data.

  Every pair (s, a) stands in the data `counts[s, a]` times, each with a next
  state drawn from the dynamics; the exact ratio and value are those of the
  empirical MDP, which is what any method can learn from the data.
  """

  def __init__(self, mdp, counts, policy=None, starts=(0,), seed=0):
    """Builds data and solution.

    Args:
      mdp: finite.FiniteMDP; what its transitions lack of 1 is termination.
      counts: [S, A] how often each pair is in the data.
      policy: [S, A] probabilities; default: uniform.
      starts: start states of the data.
      seed: of the sampled next states.
    """
    shape = num_states, num_actions = counts.shape
    self.policy = np.full(shape, 1 / num_actions) if policy is None else policy
    self.pairs = np.repeat(np.arange(counts.size), counts.ravel())  # [n]
    states, taken = np.divmod(self.pairs, num_actions)
    cumulative = mdp.transition.cumsum(-1)[states, taken]  # [n, S]
    uniform = np.random.default_rng(seed).random([len(states), 1])
    after = (cumulative <= uniform).sum(axis=1)  # [n]; S is termination.
    empirical = np.zeros((*shape, num_states + 1))
    np.add.at(empirical, (states, taken, after), 1.0)
    self.transition = finite.divide(
        empirical[..., :-1], np.broadcast_to(counts[..., None], (*shape, 1))
    )
    self.start = np.bincount(starts, minlength=num_states) / len(starts)
    self.data = counts / counts.sum()  # [S, A] d_D
    if counts.all():
      occupancy = finite.occupancy(
          self.transition, self.policy, self.start, GAMMA
      )
      self.ratio = (occupancy / self.data).ravel()  # [S * A]
      self.value = float(np.sum(occupancy * mdp.rewards))
    self.dataset = _with_starts(
        _dataset(
            states,
            taken,
            np.where(after == num_states, 0, after),
            mdp.rewards[states, taken],
            after < num_states,
        ),
        starts,
    )
    self.specs = (
        array_spec.BoundedArraySpec((), np.int64, 0, num_states - 1),
        array_spec.BoundedArraySpec((), np.int64, 0, num_actions - 1),
    )
    self.target = probability_tables.TabularPolicy(*self.specs, self.policy)
    self.problem = problems.Problem(
        self.dataset,
        actions.target_actions(self.target),
        vector_inputs.VectorInputs(*self.specs),
        GAMMA,
        mdp=mdp,
    )


def _dataset(states, taken, after, rewards, not_done):
  """Each transition is an episode of one step, cut there."""
  size = len(states)
  rows = np.stack([states, after], 1).ravel()  # [2 n]
  twice = lambda values: np.stack([np.zeros_like(values), values], 1).ravel()
  return datasets.Dataset.from_rows(
      rows=rows.astype(np.int64),
      step_types=np.tile([0, 1], size),
      actions=twice(taken).astype(np.int64),
      rewards=twice(rewards).astype(np.float32),
      not_done=twice(not_done).astype(np.float32),
  )


def _with_starts(dataset, starts) -> datasets.Dataset:
  """Returns the data set with other start states."""
  rows = np.concatenate([dataset.observations.rows, starts])  # [2 n + m]
  positions = np.arange(len(rows) - len(starts), len(rows))  # [m]
  return dataclasses.replace(
      dataset,
      observations=stacking.Observations(rows, np.zeros(len(rows)), 0),
      starts=tf.constant(positions, tf.int32),
  )


def chain(repeats: int = 20) -> FiniteProblem:
  """Returns the five-state chain, each pair equally often."""
  return FiniteProblem(
      finite_mdps.five_state_chain(), np.full((5, 2), repeats)
  )


def random_mdp(
    num_states=20, num_actions=3, seed=0, termination=0.0, **fields
) -> FiniteProblem:
  """Returns a random MDP, its pairs unequally often in the data.

  It ends after each pair with the probability `termination`.
  """
  mdp = finite_mdps.random_mdp(num_states, num_actions, 5, seed)
  lasting = (1.0 - termination) * mdp.transition
  mdp = dataclasses.replace(mdp, transition=lasting)
  rng = np.random.default_rng([seed, 1])
  counts = rng.integers(10, 40, (num_states, num_actions))
  return FiniteProblem(mdp, counts, seed=seed, **fields)
