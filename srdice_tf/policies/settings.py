"""The paper's target and behaviour policies around a base policy.

Continuous control: easy and hard. Discrete actions: main, noise and separate;
for finite MDPs DualDICE's alphas. Each number of a setting can be replaced.
"""

import dataclasses

from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import probability_tables

TARGET_SIGMA = 0.1
SEPARATE = 'separate'


@dataclasses.dataclass(frozen=True, kw_only=True)
class BehaviourNoise:
  """How a base policy becomes the behaviour policy.

  A number is None if it is not for this kind of actions.

  Attributes:
    behaviour_sigma: of the Gaussian noise, continuous actions.
    uniform_probability: of a uniform action at each step, continuous actions.
    epsilon: of the epsilon-greedy policy, discrete actions.
    greedy_probability: of an episode without exploration, discrete actions.
  """

  behaviour_sigma: float | None = ranges.at_least(0, None)
  uniform_probability: float | None = ranges.share(None)
  epsilon: float | None = ranges.share(None)
  greedy_probability: float | None = ranges.share(None)

  def __post_init__(self):
    ranges.check(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Noise(BehaviourNoise):
  """The numbers of both policies.

  Attributes:
    target_sigma: of the target policy's Gaussian noise, continuous actions.
  """

  target_sigma: float | None = ranges.at_least(0, None)


@dataclasses.dataclass(frozen=True)
class BehaviourSetting(Noise):
  """The noise and the size of a data set, by name.

  Attributes:
    num_transitions: size of the data set in the paper.
  """

  num_transitions: int = ranges.at_least(1)


NUMBERS = tuple(field.name for field in dataclasses.fields(Noise))
BEHAVIOUR_NUMBERS = tuple(f.name for f in dataclasses.fields(BehaviourNoise))


def _continuous(
    num_transitions: int, sigma: float, uniform: float
) -> BehaviourSetting:
  return BehaviourSetting(
      num_transitions,
      target_sigma=TARGET_SIGMA,
      behaviour_sigma=sigma,
      uniform_probability=uniform,
  )


def _discrete(
    num_transitions: int, epsilon: float, greedy: float = 0.0
) -> BehaviourSetting:
  return BehaviourSetting(
      num_transitions, epsilon=epsilon, greedy_probability=greedy
  )


def _alpha(alpha: float) -> BehaviourSetting:
  """Returns DualDICE's behaviour policy; with a larger alpha nearer to pi.

  On its grid, exploration is 0.1 for pi and 0.1 + 0.6 (1 - alpha) for pi_b: pi,
  but a uniform action with probability 2/3 (1 - alpha). 200 episodes of 400.
  """
  return _discrete(80_000, epsilon=2.0 / 3.0 * (1.0 - alpha))


CONTINUOUS = {
    'easy': _continuous(500_000, sigma=0.133, uniform=0.0),
    'hard': _continuous(50_000, sigma=0.2, uniform=0.2),
}
DISCRETE = {
    'main': _discrete(1_000_000, epsilon=0.1),
    'noise': _discrete(1_000_000, epsilon=0.2, greedy=0.2),
    # The base policy is that of another agent.
    SEPARATE: _discrete(1_000_000, epsilon=0.1),
    'alpha0': _alpha(0.0),
    'alpha0.33': _alpha(0.33),
    'alpha0.66': _alpha(0.66),
}
ALL = CONTINUOUS | DISCRETE
NAMES = tuple(ALL)


def default_setting(action_spec, observation_spec=None) -> str:
  if not base.is_discrete(action_spec):
    return 'hard'
  is_finite = observation_spec is not None and _is_finite(observation_spec)
  return 'alpha0' if is_finite else 'main'


def _is_finite(observation_spec) -> bool:
  return observation_spec.shape == () and base.is_discrete(observation_spec)


def setting(
    name: str, action_spec, given: BehaviourNoise | None = None
) -> BehaviourSetting:
  """Returns the setting of that name, with the given numbers replaced.

  Raises:
    UserError: if the setting or a number is not for these actions.
  """
  is_discrete = base.is_discrete(action_spec)
  settings = DISCRETE if is_discrete else CONTINUOUS
  kind = 'discrete' if is_discrete else 'continuous'
  if name not in settings:
    raise errors.UserError(
        'setting',
        name,
        f'this environment has {kind} actions, for which there are the settings'
        f" {', '.join(settings)}",
    )
  named, replaced = settings[name], {}
  own = [number for number in NUMBERS if getattr(named, number) is not None]
  for number in NUMBERS:
    value = getattr(given, number, None)
    if value is None:
      continue
    if number not in own:
      raise errors.UserError(
          number,
          value,
          f'this environment has {kind} actions, whose noise has the numbers'
          f' {", ".join(own)}',
      )
    replaced[number] = float(value)
  return dataclasses.replace(named, **replaced)


def for_policies(
    resolved: Noise,
    given: Noise,
    target: tf_policy.TFPolicy,
    behaviour: tf_policy.TFPolicy,
    is_shipped: bool,
) -> Noise:
  """Returns the numbers, None for those that have no effect on these policies.

  The target policy has the paper's noise if it is a shipped one. All others are
  evaluated as they are, unless the user asks for noise. A stochastic policy is
  its own target, and uniform actions stay uniform.

  Args:
    resolved: the numbers of the setting.
    given: the numbers that the user set.
    target: base policy of the target policy.
    behaviour: base policy of the behaviour policy.
    is_shipped: whether the target's base policy is one of the shipped ones.

  Raises:
    UserError: if the user set one that has no effect.
  """
  unused = []
  if isinstance(target, composed.DistributionPolicy):
    unused.append('target_sigma')
  if isinstance(behaviour, composed.UniformPolicy):
    unused.extend(BEHAVIOUR_NUMBERS)
  for name in unused:
    if getattr(given, name) is not None:
      raise errors.UserError(
          name,
          getattr(given, name),
          'there is no noise around this policy, which is random already',
      )
  numbers = dict.fromkeys(unused)
  if not is_shipped and given.target_sigma is None:
    has_noise = resolved.target_sigma is not None
    numbers.setdefault('target_sigma', 0.0 if has_noise else None)
  return dataclasses.replace(resolved, **numbers)


def target_policy(
    policy: tf_policy.TFPolicy, sigma: float | None = TARGET_SIGMA
) -> tf_policy.TFPolicy:
  """Returns pi: the base policy with noise, or the greedy policy.

  A stochastic policy is its own target, and so is one without noise.
  """
  if takes_noise(policy):
    return composed.GaussianNoise(policy, sigma) if sigma else policy
  if isinstance(policy, composed.DistributionPolicy):
    return policy
  return composed.EpsilonGreedy(policy, epsilon=0.0)


def takes_noise(policy: tf_policy.TFPolicy) -> bool:
  """Returns whether the target policy is one with Gaussian noise around it."""
  is_stochastic = isinstance(policy, composed.DistributionPolicy)
  return not is_stochastic and not base.is_discrete(policy.action_spec)


def behaviour_policy(
    policy: tf_policy.TFPolicy, noise: BehaviourNoise
) -> tf_policy.TFPolicy:
  """Returns pi_b, the policy that gathers the data."""
  if isinstance(policy, composed.UniformPolicy):
    return policy
  if not base.is_discrete(policy.action_spec):
    noisy = composed.add_noise(policy, noise.behaviour_sigma)
    if not noise.uniform_probability:
      return noisy
    return composed.UniformMixture(noisy, noise.uniform_probability)
  if isinstance(policy, probability_tables.TabularPolicy):
    exploring = policy.mixed(noise.epsilon)
  else:
    exploring = composed.EpsilonGreedy(policy, noise.epsilon)
  if not noise.greedy_probability:
    return exploring
  return composed.EpisodeMixture(
      [exploring, target_policy(policy)],
      [1.0 - noise.greedy_probability, noise.greedy_probability],
  )
