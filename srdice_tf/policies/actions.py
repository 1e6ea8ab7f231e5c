"""The target policy as estimators see it: parameters, and samples of them.

The parameters of the action distribution depend only on the state, so they are
computed once for a data set. Drawing an action then takes a few operations
instead of a call of the policy's network.
"""

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import action_checks
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import target_actions_file

_CHUNK = 8192


def target_actions(policy: tf_policy.TFPolicy) -> 'TargetActions':
  """Returns the class that knows most about the policy's distribution.

  Args:
    policy: a DistributionPolicy, or one whose actions are not drawn, as from
      `sampled.repeatable`.
  """
  if isinstance(policy, target_actions_file.LoggedActionsPolicy):
    is_discrete = base.is_discrete(policy.action_spec)
    return (LoggedChoices if is_discrete else LoggedVectors)(policy)
  if isinstance(policy, composed.GaussianNoise):
    return GaussianActions(policy)
  if base.is_discrete(policy.action_spec):
    try:
      return CategoricalActions(policy)
    except NotImplementedError:
      return TargetActions(policy)
  if isinstance(policy, composed.DistributionPolicy):
    return TargetActions(policy)
  return DeterministicActions(policy)


def probability_table(
    policy: tf_policy.TFPolicy, num_states: int
) -> np.ndarray | None:
  """Returns the probabilities [S, A] of a policy for a finite MDP.

  None if it gives no probabilities that depend on the state alone.

  Raises:
    UserError: if it gives something else than the actions' probabilities.
  """
  if tf.nest.flatten(policy.policy_state_spec):
    return None
  actions = target_actions(policy)
  if not isinstance(actions, CategoricalActions):
    return None
  dtype = policy.time_step_spec.observation.dtype
  table = actions.parameters(tf.range(num_states, dtype=dtype))
  actions.check(table)
  table = table.numpy().astype(np.float64)
  # In float32 they do not sum to 1 exactly, and the horizon multiplies that.
  return table / table.sum(axis=1, keepdims=True)


class TargetActions:
  """Any policy: its parameters are the states themselves."""

  parameters_are_probabilities = False
  is_of_data = False  # Whether it is known at the transitions of data only.

  def __init__(self, policy: tf_policy.TFPolicy):
    self._policy = policy

  def _time_step(self, states: tf.Tensor) -> ts.TimeStep:
    zeros = tf.zeros(tf.shape(states)[:1])  # [B]
    step_type = tf.fill(tf.shape(zeros), ts.StepType.MID)  # [B]
    # Whole numbers come as int64, which need not be the policy's type.
    states = tf.cast(states, self._policy.time_step_spec.observation.dtype)
    return ts.TimeStep(step_type, zeros, zeros + 1.0, states)

  def _state(self, states: tf.Tensor):
    return self._policy.get_initial_state(tf.shape(states)[0])

  def parameters(self, states: tf.Tensor) -> tf.Tensor:
    """Returns what `sample` needs to know of the states [B, ...]."""
    return states

  def state_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns the parameters at s of the transitions `index` [B]."""
    return self.parameters(dataset.states(index))

  def next_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns the parameters at s' of the transitions `index` [B]."""
    return self.parameters(dataset.next_states(index))

  def start_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns the parameters at s0 of the episodes `index` [B]."""
    return self.parameters(dataset.initial_states(index))

  def sample(self, parameters: tf.Tensor, rng: tf.random.Generator):
    """Returns actions [B, ...] drawn for states with these parameters."""
    seed = tf.cast(rng.make_seeds(1)[:, 0], tf.int32)  # [2]
    time_step, state = self._time_step(parameters), self._state(parameters)
    if isinstance(self._policy, composed.DistributionPolicy):
      return self._policy.action(time_step, state, seed).action
    return self._policy.action(time_step, state).action

  def check(self, parameters: tf.Tensor):
    """Checks that actions can be drawn with the parameters of the data.

    Raises:
      UserError: if actions are NaN or out of the range.
    """
    rng = tf.random.Generator.from_seed(0)
    spec, name = self._policy.action_spec, action_checks.name_of(self._policy)
    for begin in range(0, len(parameters), _CHUNK):
      drawn = self.sample(parameters[begin : begin + _CHUNK], rng)
      action_checks.check(drawn.numpy(), spec, name)

  def support(self, parameters: tf.Tensor, num_samples: int, rng):
    """Returns actions [B, M, ...] and weights [B, M] that represent pi(s).

    Expectations are sums with these weights. Samples all weigh the same: then
    the weights are None.
    """
    drawn = [self.sample(parameters, rng) for _ in range(num_samples)]
    return tf.stack(drawn, axis=1), None


class DeterministicActions(TargetActions):
  """A continuous policy as it is: the parameters are its actions.

  They are not clipped yet, if the policy tells them before that.
  """

  def __init__(self, policy: tf_policy.TFPolicy):
    super().__init__(policy)
    self._clips = getattr(policy, 'clips', False)

  def parameters(self, states: tf.Tensor) -> tf.Tensor:
    time_step = self._time_step(states)
    with action_checks.one_line():
      if self._clips:
        return self._policy.unclipped(time_step)  # [B, A]
      return self._policy.action(time_step).action  # [B, A]

  def check(self, parameters: tf.Tensor):
    spec, name = self._policy.action_spec, action_checks.name_of(self._policy)
    action_checks.check(parameters.numpy(), spec, name)
    if self._clips:
      action_checks.warn_outside(parameters.numpy(), spec, name)

  def sample(self, parameters: tf.Tensor, rng: tf.random.Generator):
    del rng
    if not self._clips:
      return parameters
    spec = self._policy.action_spec
    return tf.clip_by_value(parameters, spec.minimum, spec.maximum)

  def support(self, parameters: tf.Tensor, num_samples: int, rng):
    """Returns the one action: exact expectations."""
    del num_samples
    return self.sample(parameters, rng)[:, None], None


class GaussianActions(TargetActions):
  """clip(pi_d(s) + noise): the parameters are pi_d(s)."""

  def parameters(self, states: tf.Tensor) -> tf.Tensor:
    with action_checks.one_line():
      return self._policy.centre(self._time_step(states))  # [B, A]

  def check(self, parameters: tf.Tensor):
    spec, name = self._policy.action_spec, action_checks.name_of(self._policy)
    action_checks.check(parameters.numpy(), spec, name)

  def sample(self, parameters: tf.Tensor, rng: tf.random.Generator):
    noise = rng.normal(tf.shape(parameters)) * self._policy.scale  # [B, A]
    low, high = self._policy.bounds
    return tf.clip_by_value(parameters + noise, low, high)


class CategoricalActions(TargetActions):
  """Discrete actions: the parameters are the probabilities."""

  parameters_are_probabilities = True

  def __init__(self, policy: tf_policy.TFPolicy):
    super().__init__(policy)
    spec = policy.time_step_spec.observation
    # Raises NotImplementedError here if the policy gives no distribution. No
    # states are made up: code of users need not know them.
    traced = tf.function(self.parameters, autograph=False)
    traced.get_concrete_function(tf.TensorSpec([1, *spec.shape], spec.dtype))

  def parameters(self, states: tf.Tensor) -> tf.Tensor:
    with action_checks.one_line():
      step = self._policy.distribution(
          self._time_step(states), self._state(states)
      )
      return composed.probabilities(step.action, self._policy.action_spec)

  def check(self, parameters: tf.Tensor):
    sums = np.sum(parameters, axis=1)  # [B]
    is_one = np.isclose(sums, 1.0, rtol=0.0, atol=1e-3)  # Not if it is NaN.
    if not is_one.all():
      raise errors.UserCodeError(
          f'{action_checks.name_of(self._policy)}: the probabilities of the'
          f' {parameters.shape[1]} actions sum to {sums[~is_one][0]:.6g} in'
          f' {np.sum(~is_one)} of {len(sums)} states; expected 1.'
      )

  def sample(self, parameters: tf.Tensor, rng: tf.random.Generator):
    shape = tf.shape(parameters)[0], 1
    uniform = rng.uniform(shape, dtype=parameters.dtype)  # [B, 1]
    below = tf.cumsum(parameters, axis=1)[:, :-1] <= uniform  # [B, A - 1]
    actions = tf.reduce_sum(tf.cast(below, tf.int64), axis=1)  # [B]
    return tf.cast(actions, self._policy.action_spec.dtype)

  def support(self, parameters: tf.Tensor, num_samples: int, rng):
    """Returns all actions with their probabilities: exact expectations."""
    del num_samples, rng
    spec = self._policy.action_spec
    actions = tf.range(spec.minimum, spec.maximum + 1, dtype=spec.dtype)
    shape = [tf.shape(parameters)[0], 1]
    return tf.tile(actions[None], shape), parameters


class _AtTheData(TargetActions):
  """What a file says at s' and s0 of a data set, and nowhere else."""

  is_of_data = True

  def __init__(self, policy: target_actions_file.LoggedActionsPolicy):
    self._policy = policy  # Nothing can be tried out.
    self._clips = policy.clips

  def parameters(self, states: tf.Tensor) -> tf.Tensor:
    del states
    raise self._policy.not_known_there()

  def state_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    return self._policy.at_states(dataset, index)

  def next_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    rows = self._policy.transition_rows(dataset, index)
    return tf.gather(self._policy.next_actions, rows)

  def start_parameters(self, dataset, index: tf.Tensor) -> tf.Tensor:
    rows = self._policy.episode_rows(dataset, index)
    return tf.gather(self._policy.initial_actions, rows)


class LoggedVectors(_AtTheData, DeterministicActions):
  """Continuous actions that a file has."""


class LoggedChoices(_AtTheData, CategoricalActions):
  """Probabilities of discrete actions that a file has."""
