"""Policies from TF-Agents SavedModels, as PolicySaver writes them."""

import glob
import hashlib
import os

import numpy as np
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import action_checks
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import distributions
from srdice_tf.policies import policy_requests
from srdice_tf.policies import probability_tables
from srdice_tf.policies import sampled

# The files of a policy. Its fingerprint file is left out: it differs between
# copies.
_FILES = (
    'saved_model.pb',
    policy_saver.POLICY_SPECS_PBTXT,
    'variables/*',
    'assets/*',
)


class SavedPolicy(tf_policy.TFPolicy):
  """A loaded SavedModel as a TF-Agents policy.

  Attributes:
    file_checksum: of the files that it was loaded from.
  """

  def __init__(
      self,
      model,
      time_step_spec,
      action_spec,
      file_checksum: str,
      bounds_known: bool = True,
  ):
    # Discrete actions are not clipped: those out of range are an error.
    clip = bounds_known and not base.is_discrete(action_spec)
    super().__init__(time_step_spec, action_spec, clip=clip)
    self._model = model
    # An attribute, so that they count as the policy's variables. A model
    # without variables has no such list.
    self._model_variables = list(getattr(model, 'model_variables', ()))
    self.file_checksum = file_checksum

  def _action(self, time_step, policy_state, seed=None):
    del seed  # Fixed when the model was saved.
    action = self._model.action(time_step, policy_state).action
    if action.dtype.is_floating:
      action = distributions.infinite_as_nan(action)
    return policy_step.PolicyStep(action, policy_state)

  def _distribution(self, time_step, policy_state):
    step = self._model.distribution(time_step, policy_state)
    if not hasattr(step, 'action'):
      raise NotImplementedError('It was saved without a distribution.')
    return policy_step.PolicyStep(step.action, policy_state)


def load(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """Returns the policy in a directory that TF-Agents' PolicySaver wrote.

  Its specs must be those that are asked for. Where bounds are known only from
  logged data, those of the policy count.

  Returns:
    A SavedPolicy, if its actions are not drawn; else a SampledPolicy, which
    draws them from the distribution that was saved.

  Raises:
    UserError: if it cannot be read, does not fit the specs, keeps a state, or
      draws its actions and was saved without a distribution.
  """
  path, source = request.name, request.source
  try:
    specs = tensor_spec.from_pbtxt_file(
        os.path.join(path, policy_saver.POLICY_SPECS_PBTXT)
    )
    found, state_spec = specs['collect_data_spec'], specs['policy_state_spec']
    found = found.observation, found.action
    model = tf.saved_model.load(path)
  except Exception as error:  # What damage raises depends on where it is.
    raise errors.at(
        source, f"not a SavedModel of TF-Agents' PolicySaver: {_line(error)}"
    ) from error
  sampled.check_stateless(state_spec, source)
  expected = tuple(
      _agreed(request, what, *specs)
      for what, *specs in zip(
          ('observations', 'actions'),
          found,
          map(tensor_spec.from_spec, request.specs),
      )
  )
  policy = SavedPolicy(
      model,
      ts.time_step_spec(expected[0]),
      expected[1],
      _checksum(path),
      request.bounds_known or _is_bounded(found[1]),
  )
  policy.source = source
  try:
    policy = sampled.repeatable(policy, source)
    _check_states(policy, *expected)
  except (ValueError, TypeError, AttributeError, tf.errors.OpError) as error:
    raise errors.at(
        source,
        f"it cannot be called on the {request.owner}'s time steps:"
        f' {_line(error)}',
        'expected one saved for batches of any size (None), without'
        ' input_fn_and_spec',
    ) from error
  return policy


def _line(error: Exception) -> str:
  lines = str(error).strip().splitlines() or [type(error).__name__]
  return lines[0]


def _checksum(path: str) -> str:
  digest = hashlib.sha256()
  for pattern in _FILES:
    for name in sorted(glob.glob(pattern, root_dir=path)):
      with open(os.path.join(path, name), 'rb') as file:
        content = hashlib.file_digest(file, 'sha256').digest()
      digest.update(name.encode() + content)
  return digest.hexdigest()


def _agreed(request: policy_requests.Request, what: str, found, expected):
  """Returns the spec that counts of observations or actions.

  Raises:
    UserError: naming both specs where they differ.
  """
  leaves = tf.nest.flatten(found)
  if len(leaves) == 1 and _fits(leaves[0], expected):
    return expected
  is_open = not request.bounds_known and policy_requests.is_bounded(expected)
  if len(leaves) == 1 and is_open and _covers(leaves[0], expected):
    return leaves[0]
  found = ', '.join(map(policy_requests.describe, leaves))
  raise request.mismatch(what, found, policy_requests.describe(expected))


def _is_bounded(nest) -> bool:
  return all(map(policy_requests.is_bounded, tf.nest.flatten(nest)))


def _fits(found, expected) -> bool:
  if (found.shape, found.dtype) != (expected.shape, expected.dtype):
    return False
  if not _is_bounded((found, expected)):
    return True
  return np.allclose(found.minimum, expected.minimum) and np.allclose(
      found.maximum, expected.maximum
  )


def _covers(found, expected) -> bool:
  """Returns whether only the bounds differ, and each logged number is there."""
  if (found.shape, found.dtype) != (expected.shape, expected.dtype):
    return False
  if not expected.dtype.is_integer:
    return True
  return found.minimum == 0 and bool(np.all(found.maximum >= expected.maximum))


def _check_states(policy, observation_spec, action_spec):
  """Acts in each state of a finite MDP.

  Raises:
    UserError: if its actions are not those of the MDP.
  """
  if not probability_tables.is_finite(observation_spec, action_spec):
    return
  if not isinstance(policy, composed.DistributionPolicy):
    policy = composed.EpsilonGreedy(policy, epsilon=0.0)
  with action_checks.one_line():
    actions.probability_table(policy, int(observation_spec.maximum) + 1)
