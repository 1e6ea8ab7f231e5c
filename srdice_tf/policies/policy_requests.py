"""What is asked of the loaders of policies, and what a policy's specs are."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf import errors
from srdice_tf.policies import base


class Request(NamedTuple):
  """What is asked for.

  Attributes:
    name: as the user wrote it.
    env_id: the environment; '' if there is none, but data only.
    specs: of the observations and actions of the environment or the data.
    source: what errors call the policy, such as 'policy=random'.
    bounds_known: whether the bounds of the actions (the number of discrete
      ones) are known. If not, they are those of the logged actions, and what
      the policy knows counts.
  """

  name: str
  env_id: str
  specs: tuple
  source: str
  bounds_known: bool = True

  @property
  def owner(self) -> str:
    """What errors call the owner of the specs."""
    return 'environment' if self.env_id else 'data'

  @property
  def is_discrete(self) -> bool:
    return base.is_discrete(self.specs[1])

  @property
  def num_actions(self) -> int:
    """The number of discrete actions, which count from 0."""
    return int(self.specs[1].maximum) + 1

  def mismatch(self, what: str, found, expected, hint: str = ''):
    """Returns the error that names both sides."""
    return errors.at(
        self.source,
        f"its {what} are {found}, the {self.owner}'s are {expected}",
        hint,
    )

  def with_num_actions(self, found: int) -> 'Request':
    """Returns the request for a policy with this number of actions.

    Raises:
      UserError: if they are too few, or others than is known.
    """
    missing = found < self.num_actions
    if missing or (self.bounds_known and found != self.num_actions):
      raise self.mismatch('discrete actions', found, self.num_actions)
    spec = tensor_spec.BoundedTensorSpec(
        [], tf.as_dtype(self.specs[1].dtype), 0, found - 1, 'action'
    )
    return self._replace(specs=(self.specs[0], spec))


def describe(spec) -> str:
  """Returns type, shape and bounds of a spec for an error."""
  if not is_bounded(spec):
    return base.describe(spec)
  low, high = np.unique(spec.minimum), np.unique(spec.maximum)
  low, high = (x[0] if len(x) == 1 else x.tolist() for x in (low, high))
  return f'{base.describe(spec)} from {low} to {high}'


def is_bounded(spec) -> bool:
  return isinstance(spec, tensor_spec.BoundedTensorSpec)
