"""The base of tabular estimators: density ratios in a table."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators.tabular import counts


@dataclasses.dataclass(frozen=True)
class TabularConfig(config_fields.Ratios):
  """The fields that all tabular estimators have.

  Attributes:
    tabular_missing_mass: Largest share of the target policy's visits that may
      fall on pairs (s, a) without data, for tabular methods.
  """

  tabular_missing_mass: float = ranges.share(0.01)


class TabularEstimator(interface.RatioEstimator):
  """A ratio for each pair (s, a), solved for in one step.

  The ratio of a pair without data is not defined: it is NaN.
  """

  GENERALISES = False

  def __init__(self, problem, config, seed, shared):
    """Counts the data.

    Raises:
      UserError: if the data are not those of a finite MDP, or lack pairs that
        the target policy visits.
    """
    super().__init__(problem, config, seed, shared)
    known = self._known_transition()
    self._counts = counts.Counts(problem, self._is_discounted())
    self._transition = self._counts.transition if known is None else known
    self._missing = self._counts.missing(problem.gamma, known)
    self._check_support()
    self._table = tf.Variable(np.zeros(self._counts.shape), name='ratios')
    self._pairs = tf.constant(self._counts.pairs)  # [n]
    self._weights = tf.constant(self._counts.weights)  # [n]
    self.phases = (
        phases.Phase(self.NAME, 1, self._solve_step, compiled=False),
    )

  def _is_discounted(self) -> bool:
    """Returns whether step t of an episode weighs gamma^t."""
    return False

  def _known_transition(self) -> np.ndarray | None:
    """Returns [S, A, S] of the MDP itself, to use instead of the data's."""
    return None

  def _check_support(self):
    number, mass = self._missing
    if number and mass > self.config.tabular_missing_mass:
      raise errors.UserError(
          'algo',
          self.name,
          f'the data lack {number} of the pairs (s, a) that the target policy'
          f' visits; they hold {mass:.3g} of the mass of d_pi. Collect more, or'
          ' allow it with tabular_missing_mass',
      )

  def _solve(self) -> np.ndarray:
    """Returns the ratios [S, A]."""
    raise NotImplementedError

  def _solve_step(self):
    covered = self._counts.distribution > 0.0  # [S, A]
    self._table.assign(np.where(covered, self._solve(), np.nan))
    return {'mean_ratio': tf.reduce_mean(self.ratios())}

  def ratio(self, inputs):
    num_states, num_actions = self._counts.shape
    states = tf.argmax(inputs[:, :num_states], axis=1)  # [B]
    actions = tf.argmax(inputs[:, num_states:], axis=1)  # [B]
    return self._of_pairs(states * num_actions + actions)

  def density_ratio(self, states, actions):
    num_states, num_actions = self._counts.shape
    states = counts.integers(states, num_states, 'states')
    actions = counts.integers(actions, num_actions, 'actions')
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

  def lines(self):
    number, mass = self._missing
    if not number:
      return []
    return [
        f'{self.name}: the data lack {number} pairs (s, a) that the target'
        f' policy visits, with {mass:.2e} of the mass of d_pi'
    ]
