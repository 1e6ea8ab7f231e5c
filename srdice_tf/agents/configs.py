"""Settings of the agents and of a training run; defaults are the paper's."""

import dataclasses

from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges

AGENTS = ('td3', 'ddqn', 'ddqn_per')
_OF_PRIORITIES = ('priority_exponent', 'importance_exponent', 'min_priority')


@dataclasses.dataclass(frozen=True)
class Td3Config:
  """TD3; noise is in units of the action bound.

  Attributes:
    batch_size: Transitions in a minibatch.
    learning_rate: Learning rate of Adam.
    adam_epsilon: Epsilon of Adam.
    gamma: Discount factor.
    tau: Share of the new weights in an update of the targets.
    delay: Updates of the critics between two updates of actor and targets.
    target_noise: Standard deviation of the noise in the target's action.
    target_noise_clip: Bound of the noise in the target's action.
    exploration_noise: Standard deviation of the noise while collecting.
    random_steps: Steps with uniform random actions before learning.
    updates_per_step: Updates per step in the environment.
    replay_capacity: Transitions that are kept.
    num_envs: Environments that share a policy call.
    block_steps: Steps between two calls for updates.
  """

  batch_size: int = ranges.at_least(1, 256)
  learning_rate: float = ranges.positive(3e-4)
  adam_epsilon: float = ranges.positive(1e-8)
  gamma: float = ranges.inside(0, 1, 0.99)
  tau: float = ranges.rate(0.005)
  delay: int = ranges.at_least(1, 2)
  target_noise: float = ranges.at_least(0, 0.2)
  target_noise_clip: float = ranges.at_least(0, 0.5)
  exploration_noise: float = ranges.at_least(0, 0.1)
  random_steps: int = ranges.at_least(0, 25_000)
  updates_per_step: float = ranges.between(1e-6, 100, 1.0)
  replay_capacity: int = ranges.at_least(1, 1_000_000)
  num_envs: int = ranges.between(1, limits.MOST_ENVS, 4)
  block_steps: int = ranges.between(1, 10_000, 100)

  def __post_init__(self):
    ranges.check(self)


@dataclasses.dataclass(frozen=True)
class DdqnConfig:
  """Double DQN on Atari.

  Attributes:
    batch_size: Transitions in a minibatch.
    learning_rate: Learning rate of Adam.
    learning_rate_decay_steps: Steps over which the learning rate falls to a
      tenth; 0 keeps it constant.
    adam_epsilon: Epsilon of Adam.
    small_network: Whether frames go through 16 and 32 filters to 256 units.
    gamma: Discount factor.
    n_step: Steps whose rewards a target sums; above 1 only on frames.
    target_period: Steps in the environment between two copies to the target.
    initial_epsilon: Share of random actions at the start.
    final_epsilon: Share of random actions at the end.
    epsilon_decay_steps: Steps over which the share of random actions falls.
    random_steps: Steps with uniform random actions before learning.
    updates_per_step: Updates per step in the environment.
    replay_capacity: Transitions that are kept.
    priority_exponent: Exponent of the error in a priority (ddqn_per).
    importance_exponent: Exponent of the weights that undo priorities
      (ddqn_per).
    min_priority: Lowest priority of a transition (ddqn_per).
    num_envs: Environments that share a policy call.
    block_steps: Steps between two calls for updates.
  """

  batch_size: int = ranges.at_least(1, 32)
  learning_rate: float = ranges.positive(6.25e-5)
  learning_rate_decay_steps: int = ranges.at_least(0, 0)
  adam_epsilon: float = ranges.positive(1.5e-4)
  small_network: bool = False
  gamma: float = ranges.inside(0, 1, 0.99)
  n_step: int = ranges.at_least(1, 1)
  target_period: int = ranges.at_least(1, 8_000)
  initial_epsilon: float = ranges.share(1.0)
  final_epsilon: float = ranges.share(0.01)
  epsilon_decay_steps: int = ranges.at_least(1, 250_000)
  random_steps: int = ranges.at_least(0, 20_000)
  updates_per_step: float = ranges.between(1e-6, 100, 0.25)
  replay_capacity: int = ranges.at_least(1, 1_000_000)
  # The usual exponents.
  priority_exponent: float = ranges.at_least(0, 0.6)
  importance_exponent: float = ranges.at_least(0, 0.4)
  min_priority: float = ranges.positive(1e-3)
  num_envs: int = ranges.between(1, limits.MOST_ENVS, 4)
  block_steps: int = ranges.between(1, 10_000, 16)

  def __post_init__(self):
    ranges.check(self)


def override(parameters, settings: dict, agent: str):
  """Returns the parameters with some of them replaced, by name.

  Raises:
    UserError: if the agent lacks one, or a value is out of its range.
  """
  names = {field.name for field in dataclasses.fields(parameters)}
  if agent != 'ddqn_per':
    names -= {*_OF_PRIORITIES}
  for name, value in settings.items():
    if name not in names:
      raise errors.UserError(name, value, f'agent={agent} has no such setting')
  return dataclasses.replace(parameters, **settings)


# A task of a few numbers is learned in minutes: Atari's pace would not fit.
SMALL_DDQN = DdqnConfig(
    learning_rate=1e-3,
    adam_epsilon=1e-8,
    batch_size=64,
    target_period=500,
    epsilon_decay_steps=5_000,
    final_epsilon=0.05,
    random_steps=1_000,
    updates_per_step=0.5,
    replay_capacity=100_000,
)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
  """One training run."""

  env_id: str
  agent: str = ranges.one_of(AGENTS, 'td3')
  num_steps: int = ranges.at_least(1, 1_000_000)
  seed: int = ranges.seed(0)
  eval_every: int = ranges.at_least(1, 20_000)
  eval_episodes: int = ranges.between(1, limits.MOST_ENVS, 10)
  hyperparameters: Td3Config | DdqnConfig | None = None

  def __post_init__(self):
    ranges.check(self)
