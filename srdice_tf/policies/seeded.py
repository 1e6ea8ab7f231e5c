"""TF policies for TF-Agents' Python drivers, one compiled call a batch."""

import numpy as np
import tensorflow as tf
from tf_agents.policies import py_policy
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf.policies import action_checks
from srdice_tf.policies import composed

# Calls of one stream; the most that a collection can count.
_CALLS = 2**24
# Separate streams of random numbers that a seed below 2^31 has.
NUM_STREAMS = 2**31 // _CALLS


class SeededPyPolicy(py_policy.PyPolicy):
  """Runs a TF policy; call number k draws its actions from seed (seed, k).

  TF-Agents' PyTFEagerPolicy would trace again for each seed. The only state is
  the number of the next call: an interrupted run sets it and gets the actions
  that it would have had.
  """

  def __init__(self, policy: tf_policy.TFPolicy, batch_size: int, seed: int):
    """Compiles the policy for one batch size.

    Args:
      policy: to run.
      batch_size: of each call.
      seed: s + 2^31 k is stream k of the seed s, up to NUM_STREAMS.
    """
    super().__init__(
        tensor_spec.to_nest_array_spec(policy.time_step_spec),
        tensor_spec.to_nest_array_spec(policy.action_spec),
        tensor_spec.to_nest_array_spec(policy.policy_state_spec),
    )
    self._policy = policy
    self._name = action_checks.name_of(policy)
    stream, self._seed = divmod(seed, 2**31)
    self._first_call = stream % NUM_STREAMS * _CALLS
    self.num_calls = 0
    specs = tf.nest.map_structure(
        lambda spec: tf.TensorSpec([batch_size, *spec.shape], spec.dtype),
        (policy.time_step_spec.observation, policy.policy_state_spec),
    )
    function = tf.function(self._compiled, autograph=False)
    self._function = function.get_concrete_function(
        *specs,
        tf.TensorSpec([batch_size], tf.int32),
        tf.TensorSpec([2], tf.int32),
    )

  def _compiled(self, observation, policy_state, step_type, seed):
    # Each argument costs a copy, and no policy uses reward and discount.
    zeros = tf.zeros(tf.shape(step_type))  # [B]
    time_step = ts.TimeStep(step_type, zeros, zeros + 1.0, observation)
    if isinstance(self._policy, composed.DistributionPolicy):
      return self._policy.action(time_step, policy_state, seed)
    return self._policy.action(time_step, policy_state)

  def _get_initial_state(self, batch_size):
    return self._policy.get_initial_state(batch_size)

  def _action(self, time_step, policy_state, seed=None):
    del seed
    seed = np.array(
        [self._seed, self._first_call + self.num_calls], np.int32
    )
    self.num_calls += 1
    with action_checks.one_line():
      step = self._function(
          tf.constant(time_step.observation),
          policy_state,
          tf.constant(time_step.step_type),
          tf.constant(seed),
      )
    actions = step.action.numpy()
    action_checks.check(actions, self._policy.action_spec, self._name)
    return policy_step.PolicyStep(actions, step.state)
