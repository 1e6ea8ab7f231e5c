"""Settings of the agents and of a training run; defaults are the paper's."""

import dataclasses

from srdice_tf import errors

AGENTS = ('td3', 'ddqn', 'ddqn_per')


@dataclasses.dataclass(frozen=True)
class Td3Config:
  """TD3; noise is in units of the action bound."""

  # Networks and optimisation.
  batch_size: int = 256
  learning_rate: float = 3e-4
  adam_epsilon: float = 1e-8
  # Targets.
  gamma: float = 0.99
  tau: float = 0.005
  delay: int = 2  # Updates of the critics for each one of actor and targets.
  target_noise: float = 0.2
  target_noise_clip: float = 0.5
  # Experience.
  exploration_noise: float = 0.1
  random_steps: int = 25_000
  updates_per_step: float = 1.0
  replay_capacity: int = 1_000_000
  # Environments that share a policy call, and steps between two updates.
  num_envs: int = 4
  block_steps: int = 100


@dataclasses.dataclass(frozen=True)
class DdqnConfig:
  """Double DQN on Atari."""

  # Network and optimisation.
  batch_size: int = 32
  learning_rate: float = 6.25e-5
  adam_epsilon: float = 1.5e-4
  # Targets.
  gamma: float = 0.99
  target_period: int = 8_000  # In environment steps.
  # Experience.
  initial_epsilon: float = 1.0
  final_epsilon: float = 0.01
  epsilon_decay_steps: int = 250_000
  random_steps: int = 20_000
  updates_per_step: float = 0.25
  replay_capacity: int = 1_000_000
  # Prioritised replay: the usual exponents; the notes give none.
  priority_exponent: float = 0.6
  importance_exponent: float = 0.4
  min_priority: float = 1e-3
  # Environments that share a policy call, and steps between two updates.
  num_envs: int = 4
  block_steps: int = 16


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
