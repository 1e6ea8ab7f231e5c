"""Experience for training: blocks of transitions from stepped environments."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from srdice_tf import environments
from srdice_tf.environments import batched


class Transitions(NamedTuple):
  """Steps of an environment, one in each row."""

  observation: np.ndarray  # [N, ...]
  action: np.ndarray  # [N, ...]
  reward: np.ndarray  # [N]
  discount: np.ndarray  # [N] 0 where the episode terminated, else 1.
  next_observation: np.ndarray  # [N, ...]


class Collector:
  """Steps a batch of environments and can be brought back to where it was.

  Its state is the episode of each environment and the actions taken since the
  episode began: enough to play it again, for any environment.
  """

  def __init__(self, env_id: str, num_envs: int, seed: int):
    self._env = environments.load_batch(env_id, num_envs, seed)
    self._step = self._env.reset()
    self._episodes = [0] * num_envs
    self._actions = [[] for _ in range(num_envs)]

  @property
  def env(self) -> batched.BatchedEnvironment:
    return self._env

  def collect(
      self, choose: Callable[[np.ndarray], np.ndarray], num_steps: int
  ) -> Transitions:
    """Returns at least `num_steps` transitions, a few more at most.

    An environment that begins an episode gives no transition in that step:
    from the last state of an episode nothing leads to the first of the next.

    Args:
      choose: from observations [B, ...] to actions [B, ...].
      num_steps: to collect.
    """
    parts, collected = [], 0
    while collected < num_steps:
      before, actions = self._step, choose(self._step.observation)
      self._step = after = self._env.step(actions)
      moved = before.step_type != batched.LAST  # [B]
      parts.append((
          before.observation[moved],
          actions[moved],
          after.reward[moved],
          after.discount[moved],
          after.observation[moved],
      ))
      collected += int(moved.sum())
      self._remember(actions, moved)
    return Transitions(*map(np.concatenate, zip(*parts)))

  def _remember(self, actions, moved):
    for i, action in enumerate(actions):
      if moved[i]:
        self._actions[i].append(action)
      else:
        self._episodes[i] += 1
        self._actions[i] = []

  def state(self) -> dict[str, np.ndarray]:
    state = {'episodes': np.asarray(self._episodes)}
    for i, actions in enumerate(self._actions):
      state[f'actions_{i}'] = np.asarray(actions)
    return state

  def restore(self, state):
    self._episodes = [int(e) for e in state['episodes']]
    self._actions = [
        list(state[f'actions_{i}']) for i in range(len(self._episodes))
    ]
    self._step = self._env.restore(self._episodes, self._actions)

  def close(self):
    self._env.close()
