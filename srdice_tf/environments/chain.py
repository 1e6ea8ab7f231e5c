"""The five-state chain of the paper's toy experiment, as a gymnasium env."""

import gymnasium
import numpy as np

NUM_STATES = 5
LEFT, RIGHT = 0, 1


class FiveStateChain(gymnasium.Env):
  """States x1..x5 in a row; action 0 moves left, 1 right, the ends loop.

  Episodes begin in x1 and never terminate: the time limit, if any, truncates.
  The paper evaluates ratios only and names no reward; arriving in x5 pays 1
  here, so that values differ between policies.
  """

  metadata = {'render_modes': []}

  def __init__(self):
    self.observation_space = gymnasium.spaces.Discrete(NUM_STATES)
    self.action_space = gymnasium.spaces.Discrete(2)
    self._state = 0

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._state = 0
    return self._state, {}

  def step(self, action):
    move = 1 if action == RIGHT else -1
    self._state = int(np.clip(self._state + move, 0, NUM_STATES - 1))
    reward = float(self._state == NUM_STATES - 1)
    return self._state, reward, False, False, {}
