"""Policies of finite MDPs, as tables of probabilities."""

import re

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.trajectories import policy_step

from srdice_tf import errors
from srdice_tf.policies import array_files
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import policy_requests

tfd = tfp.distributions

_GRID_EXPLORATION = 0.1  # Of DualDICE's target policy.


class TabularPolicy(composed.DistributionPolicy):
  """Draws action a in state s with probability table[s, a]."""

  def __init__(self, observation_spec, action_spec, table, source='table'):
    """Takes the table as it is, in float64.

    Args:
      observation_spec: of the environment, an integer from 0 to S - 1.
      action_spec: of the environment, an integer from 0 to A - 1.
      table: [S, A] probabilities.
      source: what errors call the table.

    Raises:
      UserError: if the table does not fit or does not hold probabilities.
    """
    super().__init__(*composed.tensor_specs(observation_spec, action_spec))
    table = np.asarray(table, np.float64)
    _check(table, _shape(observation_spec, action_spec), source)
    self._table = tf.Variable(table, trainable=False, name='table')
    self._specs = observation_spec, action_spec

  def mixed(self, epsilon: float) -> 'TabularPolicy':
    """Returns the policy that is uniform with probability epsilon."""
    table = self._table.numpy()
    uniform = 1.0 / table.shape[1]
    return TabularPolicy(
        *self._specs, (1.0 - epsilon) * table + epsilon * uniform
    )

  def _variables(self):
    return (self._table,)

  def _distribution(self, time_step, policy_state):
    probabilities = tf.gather(self._table, time_step.observation)  # [B, A]
    categorical = tfd.Categorical(
        probs=probabilities, dtype=self.action_spec.dtype
    )
    return policy_step.PolicyStep(categorical, policy_state)


def shipped(env_id: str, observation_spec, action_spec) -> TabularPolicy | None:
  """Returns the target policy of a finite MDP of ours; None for other ids.

  On the grid it is that of DualDICE's code: along the diagonal to the corner,
  with a uniform action with probability 0.1.
  """
  specs = observation_spec, action_spec
  if env_id == 'FiveStateChain':
    return TabularPolicy(*specs, np.full(_shape(*specs), 0.5))
  if env_id == 'GridWalk':
    num_states, num_actions = _shape(*specs)
    x, y = np.divmod(np.arange(num_states), round(num_states**0.5))
    straight = np.eye(num_actions)[np.where(x <= y, 0, 1)]  # [S, A]
    return TabularPolicy(*specs, straight).mixed(_GRID_EXPLORATION)
  if re.match(r'RandomMDP-', env_id):
    rng = np.random.default_rng(int(env_id.rpartition('-')[2]))
    num_states, num_actions = _shape(*specs)
    table = rng.dirichlet(np.ones(num_actions), num_states)
    return TabularPolicy(*specs, table)
  return None


def load(request: policy_requests.Request) -> TabularPolicy:
  """Returns the policy of a table [S, A] in a file that numpy.save wrote.

  Where states and actions are known only from logged data, there may be more of
  them in the table.

  Raises:
    UserError: if it is not such a table.
  """
  specs, source = request.specs, request.source
  if not is_finite(*specs):
    raise errors.at(
        source,
        f'tables of probabilities are for finite MDPs; the {request.owner} has'
        f' {base.describe(specs[0])} observations and'
        f' {base.describe(specs[1])} actions',
        'expected a SavedModel or file of weights (.npz)',
    )
  table = array_files.read_npy(request.name, source)
  is_larger = table.ndim == 2 and all(
      found >= size for found, size in zip(table.shape, _shape(*specs))
  )
  if not request.bounds_known and is_larger:
    specs = tuple(
        type(spec)(spec.shape, spec.dtype, 0, size - 1, name=spec.name)
        for spec, size in zip(specs, table.shape)
    )
  return TabularPolicy(*specs, table, source)


def is_finite(observation_spec, action_spec) -> bool:
  """Returns whether states and actions are numbered."""
  return all(
      spec.shape == () and base.is_discrete(spec)
      for spec in (observation_spec, action_spec)
  )


def _shape(observation_spec, action_spec) -> tuple[int, int]:
  return int(observation_spec.maximum) + 1, int(action_spec.maximum) + 1


def _check(table: np.ndarray, shape: tuple[int, int], source: str):
  if table.shape != shape:
    raise errors.at(
        source,
        f'found a table of shape {table.shape}, expected {shape}, states and'
        ' actions',
    )
  sums = table.sum(axis=1)
  wrong = ~(np.isclose(sums, 1.0, rtol=0.0, atol=1e-6) & (table >= 0).all(1))
  if wrong.any():
    raise errors.at(
        source,
        f'the rows of {wrong.sum()} states are not probabilities, the first is'
        f' that of state {wrong.argmax()}',
    )
