"""Actions while training: random at first, then of the policy with noise."""

from collections.abc import Callable

import numpy as np

from srdice_tf.agents import configs

Actions = Callable[[np.ndarray], np.ndarray]


def gaussian(
    actions: Actions, spec, parameters: configs.Td3Config, step: int, rng
) -> Actions:
  """Returns TD3's exploration at a step of the training.

  Args:
    actions: of the deterministic policy, from [B, ...] to [B, A].
    spec: of the actions, bounded.
    parameters: the agent's settings.
    step: steps in the environment so far.
    rng: a numpy generator.
  """
  bound = (spec.maximum - spec.minimum) / 2.0  # [A]

  def choose(observations):
    shape = (len(observations), *spec.shape)
    if step < parameters.random_steps:
      uniform = rng.uniform(spec.minimum, spec.maximum, shape)
      return uniform.astype(np.float32)  # [B, A]
    noise = parameters.exploration_noise * bound * rng.normal(size=shape)
    noisy = actions(observations) + noise  # [B, A]
    return np.clip(noisy, spec.minimum, spec.maximum).astype(np.float32)

  return choose


def epsilon_greedy(
    actions: Actions, spec, parameters: configs.DdqnConfig, step: int, rng
) -> Actions:
  """Returns Double DQN's exploration; arguments as for `gaussian`."""
  epsilon = 1.0
  if step >= parameters.random_steps:
    # The decay counts all steps, including the random ones.
    progress = min(1.0, step / parameters.epsilon_decay_steps)
    change = parameters.final_epsilon - parameters.initial_epsilon
    epsilon = parameters.initial_epsilon + progress * change

  def choose(observations):
    count = len(observations)
    random = rng.integers(int(spec.maximum) + 1, size=count)  # [B]
    if step < parameters.random_steps:
      return random
    is_random = rng.uniform(size=count) < epsilon  # [B]
    return np.where(is_random, random, actions(observations))

  return choose
