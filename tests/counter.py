"""A small environment whose every number is known.

Without TensorFlow, so that other processes import it soon.
"""

import gymnasium
import numpy as np

COUNTER = 'TestCounter-v0'
COUNTER_LIMIT = 6


class Counter(gymnasium.Env):
  """Observes (a number drawn for the episode, the step, the last action).

  The reward is the step. Episodes terminate after a drawn number of steps, 2
  to 9; the time limit of 6 truncates the longer ones.
  """

  observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), np.float64)
  action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._identity = self.np_random.uniform(-1.0, 1.0)
    self._length = int(self.np_random.integers(2, 10))
    self._step = 0
    return np.array([self._identity, 0.0, 0.0]), {}

  def step(self, action):
    self._step += 1
    observation = np.array([self._identity, self._step, float(action[0])])
    terminated = self._step >= self._length
    return observation, float(self._step), terminated, False, {}


gymnasium.register(
    COUNTER, entry_point=Counter, max_episode_steps=COUNTER_LIMIT
)
