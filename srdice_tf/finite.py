"""Finite MDPs and their exact quantities, in float64.

A row of the transition matrix may sum to less than 1: the rest is the
probability of termination, after which nothing is visited or earned.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class FiniteMDP:
  """A known MDP with S states and A actions.

  Attributes:
    transition: [S, A, S] probabilities of the next states.
    rewards: [S, A] expected rewards.
    start: [S] probabilities of the start states.
  """

  transition: np.ndarray
  rewards: np.ndarray
  start: np.ndarray

  @property
  def num_states(self) -> int:
    return self.transition.shape[0]

  @property
  def num_actions(self) -> int:
    return self.transition.shape[1]

  def occupancy(self, policy: np.ndarray, gamma: float) -> np.ndarray:
    """Returns d_pi [S, A], (1-gamma) E[sum_t gamma^t 1(s_t = s, a_t = a)]."""
    return occupancy(self.transition, policy, self.start, gamma)

  def value(self, policy: np.ndarray, gamma: float) -> float:
    """Returns R(pi) = (1-gamma) E[sum_t gamma^t r_t]."""
    return float(np.sum(self.occupancy(policy, gamma) * self.rewards))

  def density_ratio(
      self, policy: np.ndarray, gamma: float, data: np.ndarray
  ) -> np.ndarray:
    """Returns d_pi/d_D [S, A] for data of distribution d_D [S, A]."""
    return divide(self.occupancy(policy, gamma), data)


def under_policy(transition: np.ndarray, policy: np.ndarray) -> np.ndarray:
  """Returns P_pi [S, S], the state transitions under a policy [S, A]."""
  return np.einsum('sa,sat->st', policy, transition)


def successor_representation(
    transition: np.ndarray, policy: np.ndarray, gamma: float
) -> np.ndarray:
  """Returns Psi [S, S]: Psi(s'|s) = E[sum_t gamma^t 1(s_t = s') | s_0 = s]."""
  between_states = under_policy(transition, policy)  # [S, S]
  identity = np.eye(len(between_states))
  return np.linalg.solve(identity - gamma * between_states, identity)


def occupancy(
    transition: np.ndarray,
    policy: np.ndarray,
    start: np.ndarray,
    gamma: float,
) -> np.ndarray:
  """Returns d_pi [S, A] for start states of distribution [S]."""
  flow = np.eye(len(start)) - gamma * under_policy(transition, policy).T
  states = (1.0 - gamma) * np.linalg.solve(flow, start)  # [S]
  return states[:, None] * policy


def divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
  """Returns the quotient, NaN where the denominator is 0."""
  undefined = np.full_like(numerator, np.nan)
  return np.divide(
      numerator, denominator, out=undefined, where=denominator > 0.0
  )
