"""Stochastic policies made from others: noise, mixtures, epsilon-greedy.

TF-Agents' own GaussianPolicy, EpsilonGreedyPolicy and RandomTFPolicy give no
distribution, so neither log-probabilities nor exact expectations, and their
random state cannot be saved. Here, an action is a sample of `distribution`, by
the stateless seed that is given to `action`, if one is given.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf.policies import action_checks
from srdice_tf.policies import base
from srdice_tf.policies import distributions

tfd = tfp.distributions


class DistributionPolicy(tf_policy.TFPolicy):
  """A policy whose actions are samples of its distribution.

  `action(..., seed=s)` takes a stateless seed (an int32 tensor [2]): the same
  seed gives the same actions. Without one it draws from TensorFlow's state.
  """

  def _action(self, time_step, policy_state, seed=None):
    seed = tfp.random.sanitize_seed(seed)
    step = self._distribution(time_step, policy_state)
    return step._replace(action=step.action.sample(seed=seed))


class UniformPolicy(DistributionPolicy):
  """Uniformly random actions within the bounds."""

  def __init__(self, observation_spec, action_spec):
    super().__init__(*tensor_specs(observation_spec, action_spec))

  def _distribution(self, time_step, policy_state):
    batch_size = tf.shape(time_step.discount)[0]
    uniform = _uniform(self.action_spec, batch_size)
    return policy_step.PolicyStep(uniform, policy_state)


class GaussianNoise(DistributionPolicy):
  """clip(pi_d(s) + N(0, (sigma * max_action)^2)), of the paper's section 5."""

  def __init__(self, policy: tf_policy.TFPolicy, sigma: float):
    """Adds noise to a deterministic policy.

    Args:
      policy: pi_d, with actions in a bounded box.
      sigma: standard deviation for the bounds [-1, 1]; it is scaled by half
        the range of each action, so by 2 for Pendulum and 0.4 for Humanoid.
    """
    super().__init__(policy.time_step_spec, policy.action_spec)
    self.wrapped = policy
    self.bounds = _bounds(self.action_spec)
    self.scale = sigma * (self.bounds[1] - self.bounds[0]) / 2.0  # [A]

  def centre(self, time_step) -> tf.Tensor:
    """Returns pi_d(s) [B, A]."""
    return self.wrapped.action(time_step).action

  def _distribution(self, time_step, policy_state):
    noisy = distributions.ClippedNormal(
        self.centre(time_step), self.scale, *self.bounds
    )
    return policy_step.PolicyStep(tfd.Independent(noisy, 1), policy_state)


class NoisySamples(DistributionPolicy):
  """The same noise around a stochastic policy: clip(a + noise), a ~ pi(s)."""

  def __init__(self, policy: DistributionPolicy, sigma: float):
    """Adds noise to a policy's samples; sigma as for GaussianNoise."""
    super().__init__(policy.time_step_spec, policy.action_spec)
    self.wrapped = policy
    self._bounds = _bounds(self.action_spec)
    self._scale = sigma * (self._bounds[1] - self._bounds[0]) / 2.0  # [A]

  def _distribution(self, time_step, policy_state):
    noisy = distributions.NoisyDistribution(
        self.wrapped.distribution(time_step).action, self._scale, *self._bounds
    )
    return policy_step.PolicyStep(noisy, policy_state)


def add_noise(policy: tf_policy.TFPolicy, sigma: float) -> DistributionPolicy:
  """Returns the policy with Gaussian noise on its actions."""
  if isinstance(policy, DistributionPolicy):
    return NoisySamples(policy, sigma)
  return GaussianNoise(policy, sigma)


class UniformMixture(DistributionPolicy):
  """At each step a uniform action with probability p, else the policy's."""

  def __init__(self, policy: DistributionPolicy, probability: float):
    super().__init__(policy.time_step_spec, policy.action_spec)
    self.wrapped = policy
    self._probability = probability

  def _distribution(self, time_step, policy_state):
    batch_size = tf.shape(time_step.discount)[0]
    weights = tf.constant([self._probability, 1.0 - self._probability])
    mixed = distributions.mixture(
        tf.broadcast_to(weights, [batch_size, 2]),
        [
            _uniform(self.action_spec, batch_size),
            self.wrapped.distribution(time_step).action,
        ],
    )
    return policy_step.PolicyStep(mixed, policy_state)


class EpsilonGreedy(DistributionPolicy):
  """The policy's action, but a uniform one with probability epsilon."""

  def __init__(self, policy: tf_policy.TFPolicy, epsilon: float):
    """Explores around a greedy policy, or a stochastic one."""
    super().__init__(policy.time_step_spec, policy.action_spec)
    self.wrapped = policy
    self._epsilon = epsilon

  def _distribution(self, time_step, policy_state):
    own = self._own_probabilities(time_step)  # [B, A]
    uniform = self._epsilon / _num_actions(self.action_spec)
    categorical = tfd.Categorical(
        probs=(1.0 - self._epsilon) * own + uniform,
        dtype=self.action_spec.dtype,
    )
    return policy_step.PolicyStep(categorical, policy_state)

  def _own_probabilities(self, time_step) -> tf.Tensor:
    if isinstance(self.wrapped, DistributionPolicy):
      return probabilities(
          self.wrapped.distribution(time_step).action, self.action_spec
      )
    greedy = action_checks.in_range(  # [B]
        self.wrapped.action(time_step).action,
        self.action_spec,
        action_checks.name_of(self.wrapped),
    )
    return tf.one_hot(greedy, _num_actions(self.action_spec))


class EpisodeMixture(DistributionPolicy):
  """One of several policies, drawn at the start of each EPISODE."""

  def __init__(
      self,
      policies: Sequence[DistributionPolicy],
      probabilities: Sequence[float],
  ):
    # The state is the episode's policy: its index in `policies`.
    super().__init__(
        policies[0].time_step_spec,
        policies[0].action_spec,
        policy_state_spec=tf.TensorSpec([], tf.int32, name='policy'),
    )
    self._policies = tuple(policies)
    self._probabilities = tf.constant(probabilities, tf.float32)  # [K]
    self.wrapped = policies[0]  # Errors use its name.

  def _action(self, time_step, policy_state, seed=None):
    draw_seed, action_seed = tfp.random.split_seed(seed)
    drawn = tfd.Categorical(probs=self._probabilities).sample(
        tf.shape(policy_state), seed=draw_seed
    )  # [B]
    policy_state = tf.where(time_step.is_first(), drawn, policy_state)  # [B]
    weights = tf.one_hot(policy_state, len(self._policies))  # [B, K]
    action = self._mixture(time_step, weights).sample(seed=action_seed)
    return policy_step.PolicyStep(action, policy_state)

  def _distribution(self, time_step, policy_state):
    # Before an episode's first action, its policy is not drawn yet.
    weights = tf.where(  # [B, K]
        time_step.is_first()[:, None],
        self._probabilities,
        tf.one_hot(policy_state, len(self._policies)),
    )
    mixed = self._mixture(time_step, weights)
    return policy_step.PolicyStep(mixed, policy_state)

  def _mixture(self, time_step, weights):
    components = [p.distribution(time_step).action for p in self._policies]
    return distributions.mixture(weights, components)


def tensor_specs(observation_spec, action_spec):
  """Returns the specs of time steps and actions that a policy is made with."""
  return (
      tensor_spec.from_spec(ts.time_step_spec(observation_spec)),
      tensor_spec.from_spec(action_spec),
  )


def probabilities(distribution, action_spec) -> tf.Tensor:
  """Returns the probability [B, A] of each action."""
  actions = tf.range(
      action_spec.minimum, action_spec.maximum + 1, dtype=action_spec.dtype
  )
  log_probabilities = distribution.log_prob(actions[:, None])  # [A, B]
  return tf.exp(tf.transpose(log_probabilities))


def _bounds(action_spec) -> tuple[np.ndarray, np.ndarray]:
  low = np.broadcast_to(action_spec.minimum, action_spec.shape)
  high = np.broadcast_to(action_spec.maximum, action_spec.shape)
  return low.astype(np.float32), high.astype(np.float32)  # [A], [A]


def _num_actions(action_spec) -> int:
  return int(action_spec.maximum) - int(action_spec.minimum) + 1


def _uniform(action_spec, batch_size):
  if base.is_discrete(action_spec):
    num_actions = _num_actions(action_spec)
    logits = tf.zeros([batch_size, num_actions])
    return tfd.Categorical(logits, dtype=action_spec.dtype)
  low, high = _bounds(action_spec)
  shape = tf.concat([[batch_size], low.shape], 0)
  uniform = distributions.OpenUniform(tf.broadcast_to(low, shape), high)
  return tfd.Independent(uniform, 1)
