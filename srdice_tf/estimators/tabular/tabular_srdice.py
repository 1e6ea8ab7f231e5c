"""Tabular SR-DICE: the closed form of the paper's section 3."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import finite
from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import phases
from srdice_tf.estimators.tabular import tabular_estimator

EMPIRICAL, GIVEN, TD = 'empirical', 'given', 'td'


def closed_form(
    data: np.ndarray,
    policy: np.ndarray,
    successors: np.ndarray,
    start: np.ndarray,
    gamma: float,
) -> np.ndarray:
  """Returns r*(s, a) = (1-gamma) / d_D(s, a) E_s0[pi(a|s) Psi(s|s0)].

  Args:
    data: [S, A] d_D, the share of each pair in the data.
    policy: [S, A] probabilities.
    successors: [S, S] Psi(s'|s), exact or not.
    start: [S] distribution of s0.
    gamma: discount.

  Returns:
    [S, A], NaN where d_D is 0.
  """
  expected = (start @ successors)[:, None] * policy  # [S, A]
  return finite.divide((1.0 - gamma) * expected, data)


def direct_value(
    rewards: np.ndarray,
    policy: np.ndarray,
    successors: np.ndarray,
    start: np.ndarray,
    gamma: float,
) -> float:
  """Returns the SR's own estimate of R(pi) from mean rewards [S, A]."""
  state_rewards = np.sum(policy * rewards, axis=1)  # [S]
  return float((1.0 - gamma) * start @ successors @ state_rewards)


@dataclasses.dataclass(frozen=True)
class TabularSRDICEConfig(
    tabular_estimator.TabularConfig,
    config_fields.SuccessorSteps,
    config_fields.Minibatches,
):
  """Where the successor representation comes from.

  Attributes:
    tabular_successor: Successor representation of tabular SR-DICE: that of the
      data (empirical), that of the known MDP (given), or learned by TD (td).
    tabular_learning_rate: Learning rate of tabular SR-DICE's successor
      representation with tabular_successor=td.
  """

  tabular_successor: str = ranges.one_of((EMPIRICAL, GIVEN, TD), EMPIRICAL)
  tabular_learning_rate: float = ranges.inside(0, 2, 0.1)


class TabularSRDICE(tabular_estimator.TabularEstimator):
  """With the exact SR of the empirical or given MDP, or one learned by TD."""

  NAME = 'tabular_srdice'
  Config = TabularSRDICEConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    if config.tabular_successor == TD:
      num_states, num_actions = self._counts.shape
      # Psi(s'|s, a), since the behaviour policy is not known.
      self._successors = tf.Variable(
          np.zeros([num_states, num_actions, num_states]), name='successors'
      )
      self._policy = tf.constant(self._counts.policy)  # [S, A]
      learn = phases.Phase(
          'tabular_successor', config.successor_steps, self._td_step
      )
      self.phases = (learn, *self.phases)

  def _known_transition(self):
    if self.config.tabular_successor != GIVEN:
      return None
    if self.problem.mdp is None:
      raise errors.UserError(
          'tabular_successor',
          GIVEN,
          'the transition matrix of this MDP is not known',
      )
    return self.problem.mdp.transition

  def _td_step(self):
    """Moves Psi of the minibatch's pairs to their mean targets."""
    batch = self.problem.sample_logged(self.config.batch_size, self.rng)
    num_states, num_actions = self._counts.shape
    pairs = batch.states * num_actions + batch.actions  # [B]
    after = tf.einsum(
        'ba,bat->bt',
        tf.gather(self._policy, batch.next_states),
        tf.gather(self._successors, batch.next_states),
    )  # [B, S]
    target = losses.bootstrap_target(
        tf.one_hot(batch.states, num_states, dtype=tf.float64),
        after,
        self.problem.gamma,
        tf.cast(batch.not_done, tf.float64),
    )
    now = tf.reshape(self._successors, [-1, num_states])  # [S A, S]
    td_errors = target - tf.gather(now, pairs)  # [B, S]
    moves = tf.math.unsorted_segment_mean(
        td_errors, pairs, num_states * num_actions
    )  # [S A, S]
    loss = tf.reduce_mean(tf.square(td_errors))
    rate = self.config.tabular_learning_rate
    with tf.control_dependencies([loss, moves]):
      self._successors.assign_add(
          tf.reshape(rate * moves, self._successors.shape)
      )
    return {'loss': tf.cast(loss, tf.float32)}

  def successors(self) -> np.ndarray:
    """Returns Psi [S, S] as it is now known."""
    policy = self._counts.policy
    if self.config.tabular_successor == TD:
      return np.einsum('sa,sat->st', policy, self._successors.numpy())
    return finite.successor_representation(
        self._transition, policy, self.problem.gamma
    )

  def _solve(self):
    counts = self._counts
    return closed_form(
        counts.distribution,
        counts.policy,
        self.successors(),
        counts.start,
        self.problem.gamma,
    )

  def details(self):
    """Adds the SR's own estimate, which is the same by theorem 2."""
    counts = self._counts
    direct = direct_value(
        counts.rewards,
        counts.policy,
        self.successors(),
        counts.start,
        self.problem.gamma,
    )
    return {
        **super().details(),
        'direct_sr': direct,
        'theorem_2_difference': float(self.estimate()) - direct,
    }

  def lines(self):
    details = self.details()
    theorem = (
        f'{self.name}: ratios {float(self.estimate()):.6f}, the SR itself'
        f' {details["direct_sr"]:.6f} (theorem 2: equal; difference'
        f' {details["theorem_2_difference"]:.1e})'
    )
    return [theorem, *super().lines()]
