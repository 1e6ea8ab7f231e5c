"""Experience for training: blocks of transitions from stepped environments."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from srdice_tf import environments
from srdice_tf.environments import batched
from srdice_tf.logging import progress


class Steps(NamedTuple):
  """Steps of an environment, one in each row."""

  observation: np.ndarray  # [N, ...]
  action: np.ndarray  # [N, ...]
  reward: np.ndarray  # [N]
  discount: np.ndarray  # [N] 0 where the episode terminated, else 1.
  next_observation: np.ndarray  # [N, ...]


class Rows(NamedTuple):
  """Time steps of all environments, each with the action that followed.

  The last state of an episode has no action: in its row, action, reward and
  discount mean nothing.
  """

  step_type: np.ndarray  # [T, E]
  observation: np.ndarray  # [T, E, ...]
  action: np.ndarray  # [T, E, ...]
  reward: np.ndarray  # [T, E] that came after the action.
  discount: np.ndarray  # [T, E] that came with it.


class Collector:
  """Steps a batch of environments; a restored one goes on where it was.

  Its state is the episode of each environment and the actions taken since the
  episode began: enough to play it again, for any environment. TF-Agents'
  PyDriver has no such state, and takes 1.3 times as long on HalfCheetah and 1.5
  times on Pendulum (`benchmark.py --only=td3`).
  """

  def __init__(self, env_id: str, num_envs: int, seed: int):
    self._env = environments.load_batch(
        env_id, num_envs, seed, count=progress.foretell_envs
    )
    self._step = self._env.reset()
    self._episodes = [0] * num_envs
    self._actions = [[] for _ in range(num_envs)]

  @property
  def env(self) -> batched.BatchedEnvironment:
    return self._env

  def collect(
      self, choose: Callable[[np.ndarray], np.ndarray], num_steps: int
  ) -> Steps:
    """Returns `num_steps` transitions or a few more.

    An environment that begins an episode gives no transition in that step:
    nothing leads from the last state of an episode to the first of the next.

    Args:
      choose: from observations [B, ...] to actions [B, ...].
      num_steps: to collect.
    """
    parts = []
    for before, actions, after in self._play(choose, num_steps):
      moved = before.step_type != batched.LAST  # [B]
      parts.append((
          before.observation[moved],
          actions[moved],
          after.reward[moved],
          after.discount[moved],
          after.observation[moved],
      ))
    return Steps(*map(np.concatenate, zip(*parts)))

  def collect_rows(
      self, choose: Callable[[np.ndarray], np.ndarray], num_steps: int
  ) -> Rows:
    """Returns such steps in the order of time, each observation once."""
    parts = [
        (
            before.step_type,
            before.observation,
            actions,
            after.reward,
            after.discount,
        )
        for before, actions, after in self._play(choose, num_steps)
    ]
    return Rows(*map(np.stack, zip(*parts)))

  def _play(self, choose, num_steps):
    """Yields time steps, actions and the time steps that followed."""
    collected = 0
    while collected < num_steps:
      before, actions = self._step, choose(self._step.observation)
      self._step = self._env.step(actions)
      moved = before.step_type != batched.LAST  # [B]
      collected += int(moved.sum())
      self._remember(actions, moved)
      yield before, actions, self._step

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
