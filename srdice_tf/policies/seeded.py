"""TF policies in TF-Agents' Python drivers, one compiled call for a batch."""

import tensorflow as tf
from tf_agents.policies import py_policy
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step

from srdice_tf.policies import composed


class SeededPyPolicy(py_policy.PyPolicy):
  """Runs a TF policy; call number k draws its actions from seed (seed, k).

  TF-Agents' PyTFEagerPolicy would trace again for each seed. The number of the
  next call is all there is to save: an interrupted run sets it and goes on
  with the very actions it would have had.
  """

  def __init__(self, policy: tf_policy.TFPolicy, batch_size: int, seed: int):
    """Compiles the policy for one batch size."""
    super().__init__(
        tensor_spec.to_nest_array_spec(policy.time_step_spec),
        tensor_spec.to_nest_array_spec(policy.action_spec),
        tensor_spec.to_nest_array_spec(policy.policy_state_spec),
    )
    self._policy = policy
    self._seed = seed % 2**31
    self.num_calls = 0
    specs = tf.nest.map_structure(
        lambda spec: tf.TensorSpec([batch_size, *spec.shape], spec.dtype),
        (policy.time_step_spec, policy.policy_state_spec),
    )
    self._function = tf.function(self._compiled, autograph=False).get_concrete_function(
        *specs, tf.TensorSpec([2], tf.int32)
    )

  def _compiled(self, time_step, policy_state, seed):
    if isinstance(self._policy, composed.DistributionPolicy):
      return self._policy.action(time_step, policy_state, seed)
    return self._policy.action(time_step, policy_state)

  def _get_initial_state(self, batch_size):
    return self._policy.get_initial_state(batch_size)

  def _action(self, time_step, policy_state, seed=None):
    del seed
    seed = tf.constant([self._seed, self.num_calls], tf.int32)
    self.num_calls += 1
    time_step = tf.nest.map_structure(tf.convert_to_tensor, time_step)
    step = self._function(time_step, policy_state, seed)
    return policy_step.PolicyStep(step.action.numpy(), step.state)
