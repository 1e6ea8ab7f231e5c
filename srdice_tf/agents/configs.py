"""Settings of the agents and of a training run; defaults are the paper's."""

import dataclasses

from srdice_tf import errors

AGENTS = ('td3', 'ddqn', 'ddqn_per')


@dataclasses.dataclass(frozen=True)
class Td3Config:
  """TD3; noise is in units of the action bound.

  Attributes:
    batch_size: Transitions in a minibatch.
    learning_rate: Of Adam.
    adam_epsilon: Of Adam.
    gamma: Discount.
    tau: Share of the new weights in an update of the targets.
    delay: Updates of the critics for each one of actor and targets.
    target_noise: Deviation of the noise in the target's action.
    target_noise_clip: Its bound.
    exploration_noise: Deviation of the noise of the actions taken.
    random_steps: Steps with uniform actions before learning.
    updates_per_step: Updates for each step in the environment.
    replay_capacity: Transitions that are kept.
    num_envs: Environments that share a policy call.
    block_steps: Steps between two calls for updates.
  """

  batch_size: int = 256
  learning_rate: float = 3e-4
  adam_epsilon: float = 1e-8
  gamma: float = 0.99
  tau: float = 0.005
  delay: int = 2
  target_noise: float = 0.2
  target_noise_clip: float = 0.5
  exploration_noise: float = 0.1
  random_steps: int = 25_000
  updates_per_step: float = 1.0
  replay_capacity: int = 1_000_000
  num_envs: int = 4
  block_steps: int = 100


@dataclasses.dataclass(frozen=True)
class DdqnConfig:
  """Double DQN on Atari.

  Attributes:
    batch_size: Transitions in a minibatch.
    learning_rate: Of Adam.
    learning_rate_decay_steps: Steps over which it falls to a tenth; 0: never.
    adam_epsilon: Of Adam.
    small_network: Whether frames go through 16 and 32 filters to 256 units.
    gamma: Discount.
    n_step: Steps whose rewards a target sums, on pixels.
    target_period: Steps in the environment between two copies to the target.
    initial_epsilon: Share of random actions at first.
    final_epsilon: Share of random actions in the end.
    epsilon_decay_steps: Steps from the first share to the last.
    random_steps: Steps with uniform actions before learning.
    updates_per_step: Updates for each step in the environment.
    replay_capacity: Transitions that are kept.
    priority_exponent: Of the error in a priority, ddqn_per.
    importance_exponent: Of the weights that undo priorities, ddqn_per.
    min_priority: The least one, ddqn_per.
    num_envs: Environments that share a policy call.
    block_steps: Steps between two calls for updates.
  """

  batch_size: int = 32
  learning_rate: float = 6.25e-5
  learning_rate_decay_steps: int = 0
  adam_epsilon: float = 1.5e-4
  small_network: bool = False
  gamma: float = 0.99
  n_step: int = 1
  target_period: int = 8_000
  initial_epsilon: float = 1.0
  final_epsilon: float = 0.01
  epsilon_decay_steps: int = 250_000
  random_steps: int = 20_000
  updates_per_step: float = 0.25
  replay_capacity: int = 1_000_000
  # The usual exponents; the notes give none.
  priority_exponent: float = 0.6
  importance_exponent: float = 0.4
  min_priority: float = 1e-3
  num_envs: int = 4
  block_steps: int = 16


# Settings that are shares, 0 and 1 included; gamma is checked apart.
_SHARES = ('tau', 'initial_epsilon', 'final_epsilon')
_MAY_BE_ZERO = (
    'target_noise', 'target_noise_clip', 'exploration_noise', 'random_steps',
    'priority_exponent', 'importance_exponent', 'learning_rate_decay_steps',
)


def override(parameters, settings: dict, agent: str):
  """Returns the parameters with some of them replaced, by name.

  Raises:
    UserError: if the agent lacks one, or a value is out of its range.
  """
  for name, value in settings.items():
    if not hasattr(parameters, name):
      raise errors.UserError(f'--{name}: --agent={agent} has no such setting.')
    _check_range(name, value)
  return dataclasses.replace(parameters, **settings)


def _check_range(name: str, value):
  if name == 'gamma':
    is_fine, wanted = 0.0 < value < 1.0, 'between 0 and 1'
  elif name in _SHARES:
    is_fine, wanted = 0.0 <= value <= 1.0, 'between 0 and 1'
  elif name in _MAY_BE_ZERO:
    is_fine, wanted = value >= 0, 'at least 0'
  else:
    is_fine, wanted = isinstance(value, bool) or value > 0, 'above 0'
  if not is_fine:
    raise errors.UserError(f'--{name}={value}: expected a number {wanted}.')


# A task of a few numbers is learnt in minutes: Atari's pace would not fit.
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
  agent: str = 'td3'
  num_steps: int = 1_000_000
  seed: int = 0
  eval_every: int = 20_000
  eval_episodes: int = 10
  hyperparameters: Td3Config | DdqnConfig | None = None

  def __post_init__(self):
    if self.agent not in AGENTS:
      raise errors.UserError(
          f'--agent={self.agent}: no such agent; expected one of'
          f' {", ".join(AGENTS)}.'
      )
    for flag in ('num_steps', 'eval_every', 'eval_episodes'):
      if getattr(self, flag) < 1:
        raise errors.UserError(
            f'--{flag}={getattr(self, flag)}: expected at least 1.'
        )
