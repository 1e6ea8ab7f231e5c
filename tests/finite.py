"""Finite MDPs with exact solutions, as data sets for estimators."""

import numpy as np
from tf_agents.specs import array_spec

from srdice_tf.estimators import problem as problem_lib
from srdice_tf.networks import inputs as inputs_lib
from srdice_tf.policies import actions
from srdice_tf.policies import composed
from srdice_tf.replay import dataset as dataset_lib

GAMMA = 0.9


class FiniteProblem:
  """A finite MDP under the uniform policy and data that cover all pairs.

  Every pair (s, a) stands in the data `counts[s, a]` times, each with a next
  state drawn from the dynamics; the exact ratio is that of the empirical MDP,
  which is what any method can learn from the data.
  """

  def __init__(self, transition, rewards, counts, seed=0):
    """Builds data and solution.

    Args:
      transition: [S, A, S] probabilities.
      rewards: [S, A].
      counts: [S, A] how often each pair is in the data.
      seed: of the sampled next states.
    """
    rng = np.random.default_rng(seed)
    num_states, num_actions, _ = transition.shape
    pairs = np.repeat(np.arange(num_states * num_actions), counts.ravel())
    states, taken = np.divmod(pairs, num_actions)
    after = np.array([
        rng.choice(num_states, p=transition[s, a])
        for s, a in zip(states, taken)
    ])
    empirical = np.zeros_like(transition)
    np.add.at(empirical, (states, taken, after), 1.0)
    empirical /= counts[:, :, None]
    self._solve(empirical, rewards, counts)
    self.dataset = _dataset(states, taken, after, rewards[states, taken])
    self.pairs = pairs
    self.specs = (
        array_spec.BoundedArraySpec((), np.int64, 0, num_states - 1),
        array_spec.BoundedArraySpec((), np.int64, 0, num_actions - 1),
    )
    policy = composed.UniformPolicy(*self.specs)
    self.problem = problem_lib.Problem(
        self.dataset,
        actions.target_actions(policy),
        inputs_lib.VectorInputs(*self.specs),
        GAMMA,
    )

  def _solve(self, transition, rewards, counts):
    """Exact occupancy from state 0 under the uniform policy."""
    num_states, num_actions, _ = transition.shape
    under_policy = transition.mean(axis=1)  # [S, S]
    start = np.eye(num_states)[0]
    states = (1.0 - GAMMA) * np.linalg.solve(
        np.eye(num_states) - GAMMA * under_policy.T, start
    )  # [S]
    occupancy = np.repeat(states[:, None], num_actions, 1) / num_actions
    data = counts / counts.sum()
    self.ratio = (occupancy / data).ravel()  # [S * A]
    self.value = float(np.sum(occupancy * rewards))


def _dataset(states, taken, after, rewards):
  """Each transition is an episode of one step, cut there.

  Start states are one more episode, of the state 0: it has no transition.
  """
  size = len(states)
  rows = np.stack([states, after], 1).ravel()  # [2 n]
  twice = lambda values: np.stack([np.zeros_like(values), values], 1).ravel()
  dataset = dataset_lib.Dataset(
      rows=rows.astype(np.int64),
      step_types=np.tile([0, 1], size),
      actions=twice(taken).astype(np.int64),
      rewards=twice(rewards).astype(np.float32),
      not_done=np.ones(2 * size, np.float32),
  )
  return _WithStart(dataset)


class _WithStart:
  """The data set with state 0 as its only start state."""

  def __init__(self, dataset):
    self._dataset = dataset
    self._zeros = np.flatnonzero(
        dataset.initial_states(np.arange(dataset.num_initial_states)) == 0
    )
    self.num_initial_states = 1

  def __getattr__(self, name):
    return getattr(self._dataset, name)

  def initial_states(self, index):
    return self._dataset.initial_states(index * 0 + int(self._zeros[0]))

  def sample_initial(self, batch_size, rng):
    batch = self._dataset.sample_initial(batch_size, rng)
    index = batch.index * 0
    return batch._replace(states=self.initial_states(index), index=index)


def chain(repeats: int = 20) -> FiniteProblem:
  """Returns the five-state chain, each pair equally often."""
  transition = np.zeros((5, 2, 5))
  for state in range(5):
    transition[state, 0, max(state - 1, 0)] = 1.0
    transition[state, 1, min(state + 1, 4)] = 1.0
  rewards = np.zeros((5, 2))
  rewards[3:, 1] = 1.0
  return FiniteProblem(transition, rewards, np.full((5, 2), repeats))


def random_mdp(num_states=20, num_actions=3, seed=0) -> FiniteProblem:
  """Returns a random MDP, its pairs unequally often in the data."""
  rng = np.random.default_rng(seed)
  concentration = np.full(num_states, 0.3)
  transition = rng.dirichlet(concentration, (num_states, num_actions))
  rewards = rng.uniform(0.0, 1.0, (num_states, num_actions))
  counts = rng.integers(10, 40, (num_states, num_actions))
  return FiniteProblem(transition, rewards, counts, seed)
