"""Users' stochastic policies, sampled with stateless seeds.

What TF-Agents' policies draw in `action` cannot be repeated, so the same run
would give another truth and estimate each time. If a policy has a distribution,
that is sampled instead.
"""

import re

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import composed
from srdice_tf.policies import distributions

tfd = tfp.distributions

# Any number will do. It is fixed, so that a model that was saved for another
# batch size fails.
_BATCH_SIZE = 13
_RANDOM_OPERATIONS = re.compile('Random|Multinomial|Normal|Rng')


class SampledPolicy(composed.DistributionPolicy):
  """Draws the actions of a policy from its distribution."""

  def __init__(self, policy: tf_policy.TFPolicy):
    super().__init__(policy.time_step_spec, policy.action_spec)
    self.wrapped = policy

  def _action(self, time_step, policy_state, seed=None):
    step = super()._action(time_step, policy_state, seed)
    if not step.action.dtype.is_floating:
      return step
    return step._replace(action=distributions.infinite_as_nan(step.action))

  def _distribution(self, time_step, policy_state):
    found = self.wrapped.distribution(time_step).action
    num_events = len(self.action_spec.shape)
    if num_events and found.batch_shape.rank == 1 + num_events:
      found = tfd.Independent(found, num_events)
    return policy_step.PolicyStep(found, policy_state)


def repeatable(policy: tf_policy.TFPolicy, source: str) -> tf_policy.TFPolicy:
  """Returns the policy in a form that draws its actions from a seed.

  Args:
    policy: any.
    source: what errors call it.

  Returns:
    The policy itself, if its actions are not drawn; else one that samples its
    distribution.

  Raises:
    UserError: if it keeps a state, or draws and offers no distribution.
  """
  check_stateless(policy.policy_state_spec, source)
  if isinstance(policy, composed.DistributionPolicy) or not _draws(policy):
    return policy
  if not _has_distribution(policy):
    raise errors.at(
        source,
        'it draws its actions but offers no distribution to draw them from',
        'expected a policy with one (such as ActorPolicy or QPolicy), or a'
        ' greedy one (GreedyPolicy, agent.policy)',
    )
  return SampledPolicy(policy)


def check_stateless(policy_state_spec, source: str):
  """Raises a UserError if the policy keeps a state from step to step."""
  if tf.nest.flatten(policy_state_spec):
    raise errors.at(
        source,
        'it keeps a state from step to step, as RNNs do',
        'expected a policy that acts on the observation alone',
    )


def _draws(policy: tf_policy.TFPolicy) -> bool:
  """Returns whether there is anything random in the graph of its actions."""
  graph = _trace(lambda step: policy.action(step).action, policy)
  definition = graph.as_graph_def()
  nodes = list(definition.node)
  for function in definition.library.function:
    nodes += function.node_def
  return any(_RANDOM_OPERATIONS.search(node.op) for node in nodes)


def _has_distribution(policy: tf_policy.TFPolicy) -> bool:
  """Returns whether it has a distribution that is not deterministic."""
  found = []
  try:
    _trace(lambda step: found.append(policy.distribution(step).action), policy)
  except NotImplementedError:
    return False
  return not isinstance(found[0], (tfd.Deterministic, tfd.VectorDeterministic))


def _trace(function, policy: tf_policy.TFPolicy) -> tf.Graph:
  """Traces a function of the policy's time steps."""
  spec = policy.time_step_spec.observation

  def of_observations(observations):
    zeros = tf.zeros(tf.shape(observations)[:1])  # [B]
    step_type = tf.fill(tf.shape(zeros), ts.StepType.MID)  # [B]
    return function(ts.TimeStep(step_type, zeros, zeros + 1.0, observations))

  traced = tf.function(of_observations, autograph=False)
  return traced.get_concrete_function(
      tf.TensorSpec([_BATCH_SIZE, *spec.shape], spec.dtype)
  ).graph
