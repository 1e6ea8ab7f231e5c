"""Many environments that step together for one call of the policy."""

from collections.abc import Sequence

import numpy as np
from tf_agents.environments import py_environment
from tf_agents.trajectories import time_step as ts

from srdice_tf.environments import batch_rows
from srdice_tf.environments import gymnasium_env

FIRST, MID, LAST = batch_rows.FIRST, batch_rows.MID, batch_rows.LAST


class BatchedEnvironment(py_environment.PyEnvironment):
  """Steps its environments one after the other into one batch of time steps.

  An environment whose episode ended starts the next one at the following step,
  as TF-Agents' drivers expect: that step ignores the action and gives FIRST
  with reward 0, while the others continue. With `single_episode` it stays at
  its last step instead.

  binaries/benchmark.py compares this class with TF-Agents' BatchedPyEnvironment
  and ParallelPyEnvironment and with gymnasium's vector environments.
  """

  def __init__(
      self,
      envs: Sequence[gymnasium_env.GymnasiumEnvironment],
      single_episode: bool = False,
  ):
    self._envs = list(envs)
    self._single_episode = single_episode
    super().__init__()

  @property
  def batched(self) -> bool:
    return True

  @property
  def batch_size(self) -> int:
    return len(self._envs)

  @property
  def envs(self) -> list[gymnasium_env.GymnasiumEnvironment]:
    return self._envs

  @property
  def frame_stack(self) -> int:
    return self._envs[0].frame_stack

  @property
  def all_ended(self) -> bool:
    return bool(self.current_time_step().is_last().all())

  def observation_spec(self):
    return self._envs[0].observation_spec()

  def action_spec(self):
    return self._envs[0].action_spec()

  def _reset(self):
    return self._batch([env.begin() for env in self._envs])

  def restore(
      self, episodes: Sequence[int], actions: Sequence[np.ndarray]
  ) -> ts.TimeStep:
    """Brings each environment into the middle of one of its episodes.

    Args:
      episodes: the episode of each environment.
      actions: for each environment the actions taken since the episode began.

    Returns:
      The time step reached.
    """
    step = self._batch(
        [env.begin(episode) for env, episode in zip(self._envs, episodes)]
    )
    for i, env in enumerate(self._envs):
      for action in actions[i]:
        batch_rows.write(step, i, env.advance(action))
    self._current_time_step = step
    return step

  def _batch(self, observations) -> ts.TimeStep:
    """Returns the FIRST time step of all environments."""
    return ts.TimeStep(
        step_type=np.full(self.batch_size, FIRST, np.int32),  # [B]
        reward=np.zeros(self.batch_size, np.float32),  # [B]
        discount=np.ones(self.batch_size, np.float32),  # [B]
        observation=np.stack(observations),  # [B, ...]
    )

  def _step(self, action):
    # New arrays each step: drivers and observers keep the previous ones.
    step = ts.TimeStep(*(np.copy(part) for part in self._current_time_step))
    actions = np.asarray(action)  # [B, ...]
    batch_rows.advance(self._envs, step, actions, self._single_episode)
    return step

  def close(self):
    for env in self._envs:
      env.close()
