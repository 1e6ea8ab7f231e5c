"""Checks of what a library call is given: policy, data and MDP."""

from collections.abc import Mapping
import dataclasses
import os

import tensorflow as tf
from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf import finite
from srdice_tf import ranges
from srdice_tf.data import check
from srdice_tf.data import streamed
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import sampled


@dataclasses.dataclass(frozen=True)
class Numbers:
  """The numbers of a call."""

  gamma: float = ranges.inside(0, 1)
  seed: int = ranges.seed(0)

  def __post_init__(self):
    ranges.check(self)


def names(algos) -> tuple[str, ...]:
  """Returns the names of estimators, given as a sequence or as one of them."""
  found = (algos,) if isinstance(algos, str) else algos
  is_list = isinstance(found, list | tuple)
  if not is_list or not all(isinstance(name, str) for name in found):
    raise errors.at(
        'algos', f'found {kind(algos)}', 'expected names of estimators'
    )
  return tuple(found)


def values(hyperparameters) -> dict:
  """Returns hyper-parameters by name."""
  if hyperparameters is None:
    return {}
  is_mapping = isinstance(hyperparameters, Mapping)
  if not is_mapping or not all(isinstance(n, str) for n in hyperparameters):
    raise errors.at(
        'hyperparameters',
        f'found {kind(hyperparameters)}',
        'expected values by name',
    )
  return dict(hyperparameters)


def policy_name(name) -> str:
  """Returns the name or path of a policy."""
  if not isinstance(name, str | os.PathLike):
    raise errors.at(
        'name', f'found {kind(name)}', 'expected the name of a policy'
    )
  return os.fspath(name)


def specs_of(policy: tf_policy.TFPolicy) -> tuple:
  """Returns the specs of observations and of actions."""
  return policy.time_step_spec.observation, policy.action_spec


def check_policy(policy) -> tf_policy.TFPolicy:
  """Returns the policy in a form whose actions a seed determines.

  Raises:
    UserError: if it is no policy that can be evaluated.
  """
  if not isinstance(policy, tf_policy.TFPolicy):
    raise errors.at(
        'policy',
        f'found {kind(policy)}',
        'expected a TF-Agents TFPolicy, its name, or a function of states',
    )
  _check_specs(*specs_of(policy))
  try:
    policy = sampled.repeatable(policy, 'policy')
  except errors.UserError:
    raise
  except Exception as error:  # Of the user's own code.
    reason = str(error).strip().splitlines() or ['']
    raise errors.at(
        'policy',
        f'its actions cannot be computed: {type(error).__name__}: {reason[0]}',
    ) from error
  is_stochastic = isinstance(policy, composed.DistributionPolicy)
  if base.is_discrete(policy.action_spec) and not is_stochastic:
    return composed.EpsilonGreedy(policy, epsilon=0.0)
  return policy


def _check_specs(observation_spec, action_spec):
  for name, spec in (
      ('observations', observation_spec),
      ('actions', action_spec),
  ):
    if not isinstance(spec, tf.TensorSpec):
      raise errors.at(
          'policy',
          f'its {name} are a structure of {len(tf.nest.flatten(spec))}',
          'expected one tensor',
      )
    is_frames = spec is observation_spec and len(spec.shape) == 3
    if not (spec.dtype == tf.float32 or _is_numbered(spec) or is_frames):
      raise errors.at(
          'policy',
          f'its {name} are {base.describe(spec)}{_bounds(spec)}',
          'expected float32, or whole numbers from 0 to a bound',
      )


def _is_numbered(spec) -> bool:
  """Returns whether it is one number from 0 to a bound."""
  low = getattr(spec, 'minimum', None)
  return spec.dtype.is_integer and spec.shape == () and low == 0


def _bounds(spec) -> str:
  low, high = getattr(spec, 'minimum', None), getattr(spec, 'maximum', None)
  return '' if low is None else f' from {low} to {high}'


def check_dataset(dataset):
  """Raises a UserError if the data cannot be learned from."""
  if not isinstance(dataset, streamed.StreamedDataset):  # Checked as it came.
    check.check_usable(dataset, 'data')


def check_data(policy: tf_policy.TFPolicy, dataset):
  """Raises a UserError if the data are not such as the policy has."""
  check_dataset(dataset)
  check.check_specs(streamed.in_memory(dataset), *specs_of(policy))


def check_mdp(policy: tf_policy.TFPolicy, mdp):
  """Raises a UserError if it is not the MDP of the policy."""
  if mdp is None:
    return
  if not isinstance(mdp, finite.FiniteMDP):
    raise errors.at(
        'mdp', f'found {kind(mdp)}', 'expected a finite.FiniteMDP or None'
    )
  specs = specs_of(policy)
  sizes = [
      int(spec.maximum) + 1 if _is_numbered(spec) else None for spec in specs
  ]
  if sizes != [mdp.num_states, mdp.num_actions]:
    raise errors.at(
        'mdp',
        f'it has {mdp.num_states} states and {mdp.num_actions} actions, the'
        f" policy's are {' and '.join(map(base.describe, specs))} with"
        f' {sizes[0]} and {sizes[1]}',
    )


def kind(value) -> str:
  """Returns what a value is, for messages."""
  if isinstance(value, type):
    return f'the class {value.__name__}'
  return type(value).__name__
