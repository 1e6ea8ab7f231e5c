"""Where the parts of a step are in TF-Agents' trajectories."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import trajectory

from srdice_tf import errors
from srdice_tf.data.sources import own_specs

_LOG_PROBABILITY = policy_step.CommonFields.LOG_PROBABILITY
_SINGLE = 'step_type', 'next_step_type', 'reward', 'discount'
_NEEDED = tuple(
    name for name in trajectory.Trajectory._fields if name != 'policy_info'
)


class AgentSteps(NamedTuple):
  """Steps of one stream of TF-Agents, in the order of time.

  Attributes:
    step_type: [N] of the observation.
    observation: [N, ...].
    action: [N, A] or [N], taken at the observation.
    next_step_type: [N] of the observation after the action.
    reward: [N] that came with that.
    discount: [N] that came with that.
    log_probability: [N] of the action; None if it is not known.
  """

  step_type: np.ndarray
  observation: np.ndarray
  action: np.ndarray
  next_step_type: np.ndarray
  reward: np.ndarray
  discount: np.ndarray
  log_probability: np.ndarray | None


class TrajectoryFields:
  """Finds the parts of a step among the tensors of a flat trajectory.

  Attributes:
    observation_spec: of one observation.
    action_spec: of one action.
    notes: what is there and not used.
  """

  def __init__(self, spec, where: str):
    """Checks the spec.

    Args:
      spec: of one step, as the source describes it.
      where: what errors call the source.

    Raises:
      UserError: if it is not that of a Trajectory, or has nests.
    """
    self._check_names(spec, where)
    for name in _NEEDED:
      own_specs.check_plain(name, getattr(spec, name), where)
    for name in _SINGLE:
      shape = getattr(spec, name).shape
      if shape.rank:
        raise errors.at(
            where, f'{name} has the shape {shape}', 'expected a single number'
        )
    own_specs.check_actions('action', spec.action, where)
    self.observation_spec = spec.observation
    self.action_spec = spec.action
    self.notes = ()
    self._places = self._find(spec)

  def steps(self, columns: Sequence[np.ndarray]) -> AgentSteps:
    """Returns the parts of steps.

    Args:
      columns: [N, ...] of each tensor of the flat trajectory.
    """
    places = self._places
    return AgentSteps(*(
        None if places[name] is None else np.asarray(columns[places[name]])
        for name in AgentSteps._fields
    ))

  def place(self, name: str) -> int:
    """Returns the place of a part in the flat trajectory."""
    return self._places[name]

  def _check_names(self, spec, where: str):
    found = getattr(spec, '_fields', ())
    missing = [name for name in _NEEDED if name not in found]
    if missing:
      keys = found or (sorted(spec) if isinstance(spec, dict) else ())
      has = ', '.join(map(str, keys)) or type(spec).__name__
      raise errors.at(
          where,
          f'its steps have {has}',
          f"expected those of TF-Agents' Trajectory, {', '.join(missing)} is"
          ' not there',
      )

  def _find(self, spec) -> dict[str, int | None]:
    """Returns the place of each part in the flat trajectory."""
    numbers = iter(range(len(tf.nest.flatten(spec))))
    places = tf.nest.map_structure(lambda _: next(numbers), spec)
    found = {name: getattr(places, name) for name in _NEEDED}
    found[_LOG_PROBABILITY] = _get(
        getattr(places, 'policy_info', ()), _LOG_PROBABILITY
    )
    if found[_LOG_PROBABILITY] is not None:
      known = _get(spec.policy_info, _LOG_PROBABILITY)
      if not isinstance(known, tf.TensorSpec) or known.shape.rank:
        found[_LOG_PROBABILITY] = None
        self.notes = (
            'the log-probabilities in policy_info are not used: they are not'
            ' one number a step',
        )
    return found


def without_time(spec):
  """Returns the spec of one step from that of sequences [T, ...].

  A tensor without that dimension is left as it is.
  """
  remove = lambda each: (
      tensor_spec.remove_outer_dims_nest(each, 1) if each.shape.rank else each
  )
  return tf.nest.map_structure(remove, spec)


def in_order(specs: Sequence[tf.TensorSpec]) -> trajectory.Trajectory | None:
  """Returns the specs of a flat trajectory without a policy_info, named.

  Args:
    specs: in the order of a Trajectory; None is returned if there are more or
      fewer than it has.
  """
  if len(specs) != len(_NEEDED):
    return None
  return trajectory.Trajectory(policy_info=(), **dict(zip(_NEEDED, specs)))


def _get(nest, name: str):
  if isinstance(nest, dict):
    return nest.get(name)
  return getattr(nest, name, None)
