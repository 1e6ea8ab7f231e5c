"""The paper's target and behaviour policies around a base policy.

Continuous control (section 5 of the notes): easy and hard. Discrete actions
(section 6): main, noise and separate; for finite MDPs DualDICE's alphas.
"""

import dataclasses

from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import tabular

TARGET_SIGMA = 0.1


@dataclasses.dataclass(frozen=True)
class Setting:
  """How a data set is gathered.

  Attributes:
    num_transitions: size of the data set in the paper.
    sigma: of the Gaussian noise, continuous actions.
    uniform_probability: of a uniform action at each step, continuous actions.
    epsilon: of the epsilon-greedy policy, discrete actions.
    greedy_probability: of an episode without exploration, discrete actions.
  """

  num_transitions: int
  sigma: float = 0.0
  uniform_probability: float = 0.0
  epsilon: float = 0.0
  greedy_probability: float = 0.0


def _alpha(alpha: float) -> Setting:
  """Returns DualDICE's behaviour policy, the nearer to pi the larger alpha.

  On its grid, exploration is 0.1 for pi and 0.1 + 0.6 (1 - alpha) for pi_b: pi,
  but a uniform action with probability 2/3 (1 - alpha). 200 episodes of 400.
  """
  return Setting(80_000, epsilon=2.0 / 3.0 * (1.0 - alpha))


CONTINUOUS = {
    'easy': Setting(500_000, sigma=0.133),
    'hard': Setting(50_000, sigma=0.2, uniform_probability=0.2),
}
DISCRETE = {
    'main': Setting(1_000_000, epsilon=0.1),
    'noise': Setting(1_000_000, epsilon=0.2, greedy_probability=0.2),
    # Around the policy of another agent, which the caller passes.
    'separate': Setting(1_000_000, epsilon=0.1),
    'alpha0': _alpha(0.0),
    'alpha0.33': _alpha(0.33),
    'alpha0.66': _alpha(0.66),
}
NAMES = (*CONTINUOUS, *DISCRETE)


def default_setting(action_spec, observation_spec=None) -> str:
  if not base.is_discrete(action_spec):
    return 'hard'
  is_finite = observation_spec is not None and _is_finite(observation_spec)
  return 'alpha0' if is_finite else 'main'


def _is_finite(observation_spec) -> bool:
  return observation_spec.shape == () and base.is_discrete(observation_spec)


def setting(name: str, action_spec) -> Setting:
  """Returns the setting; an error if it is not one for these actions."""
  settings = DISCRETE if base.is_discrete(action_spec) else CONTINUOUS
  if name not in settings:
    kind = 'discrete' if settings is DISCRETE else 'continuous'
    raise errors.UserError(
        f'--setting={name}: this environment has {kind} actions, for which'
        f" there are the settings {', '.join(settings)}."
    )
  return settings[name]


def target_policy(policy: tf_policy.TFPolicy) -> tf_policy.TFPolicy:
  """Returns pi: the base policy with noise 0.1, or the greedy policy.

  A stochastic policy is its own target.
  """
  if isinstance(policy, composed.DistributionPolicy):
    return policy
  if base.is_discrete(policy.action_spec):
    return composed.EpsilonGreedy(policy, epsilon=0.0)
  return composed.GaussianNoise(policy, TARGET_SIGMA)


def behaviour_policy(
    policy: tf_policy.TFPolicy, config: Setting
) -> tf_policy.TFPolicy:
  """Returns pi_b, the policy that gathers the data."""
  if isinstance(policy, composed.UniformPolicy):
    return policy
  if not base.is_discrete(policy.action_spec):
    noisy = composed.add_noise(policy, config.sigma)
    if not config.uniform_probability:
      return noisy
    return composed.UniformMixture(noisy, config.uniform_probability)
  if isinstance(policy, tabular.TabularPolicy):
    exploring = policy.mixed(config.epsilon)
  else:
    exploring = composed.EpsilonGreedy(policy, config.epsilon)
  if not config.greedy_probability:
    return exploring
  return composed.EpisodeMixture(
      [exploring, target_policy(policy)],
      [1.0 - config.greedy_probability, config.greedy_probability],
  )
