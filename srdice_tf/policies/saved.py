"""Policies from TF-Agents SavedModels, as PolicySaver writes them."""

import os

import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors


class SavedPolicy(tf_policy.TFPolicy):
  """A loaded SavedModel behind TF-Agents' policy interface."""

  def __init__(self, model, time_step_spec, action_spec, policy_state_spec):
    super().__init__(
        time_step_spec, action_spec, policy_state_spec=policy_state_spec
    )
    self._model = model
    # Listed here so that they count among the policy's variables.
    self._model_variables = list(model.model_variables)

  def _get_initial_state(self, batch_size):
    if not tf.nest.flatten(self.policy_state_spec):
      return ()
    return self._model.get_initial_state(batch_size=batch_size)

  def _action(self, time_step, policy_state, seed=None):
    del seed  # Fixed when the model was saved.
    step = self._model.action(time_step, policy_state)
    return policy_step.PolicyStep(step.action, step.state)

  def _distribution(self, time_step, policy_state):
    step = self._model.distribution(time_step, policy_state)
    if not isinstance(step, policy_step.PolicyStep):
      raise NotImplementedError('It was saved without a distribution.')
    return policy_step.PolicyStep(step.action, step.state)


def load(path: str, observation_spec, action_spec) -> tf_policy.TFPolicy:
  """Returns the policy saved in `path`, checked against the environment.

  Args:
    path: directory of a SavedModel that TF-Agents' PolicySaver wrote.
    observation_spec: of the environment.
    action_spec: of the environment, bounded.

  Raises:
    UserError: if it cannot be read or does not fit the environment.
  """
  try:
    specs = tensor_spec.from_pbtxt_file(
        os.path.join(path, policy_saver.POLICY_SPECS_PBTXT)
    )
    saved = specs['collect_data_spec']
    model = tf.saved_model.load(path)
    state_spec = specs['policy_state_spec']
  except (OSError, ValueError, KeyError, tf.errors.OpError) as error:
    reason = str(error).strip().splitlines()[0]
    raise errors.UserError(
        f"--policy={path}: not a SavedModel of TF-Agents' PolicySaver:"
        f' {reason}'
    ) from error
  observation_spec = tensor_spec.from_spec(observation_spec)
  action_spec = tensor_spec.from_spec(action_spec)
  _check(path, 'observations', saved.observation, observation_spec)
  _check(path, 'actions', saved.action, action_spec)
  time_step_spec = ts.time_step_spec(observation_spec)
  return SavedPolicy(model, time_step_spec, action_spec, state_spec)


def _check(path, what, found, expected):
  """Raises an error that names both specs where they differ."""
  leaves = tf.nest.flatten(found)
  if len(leaves) == 1 and (leaves[0].shape, leaves[0].dtype) == (
      expected.shape,
      expected.dtype,
  ):
    return
  describe = lambda spec: f'{spec.dtype.name}{list(spec.shape)}'
  found = ', '.join(describe(leaf) for leaf in leaves)
  raise errors.UserError(
      f"--policy={path}: its {what} are {found}, the environment's are"
      f' {describe(expected)}.'
  )
