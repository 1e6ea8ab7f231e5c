"""A corridor seen as pixels: the smallest task of Atari's shape, for tests."""

import gymnasium
from gymnasium import wrappers
import numpy as np

from srdice_tf.environments import atari

NUM_PLACES = 5
LEFT, RIGHT = 0, 1
START = 2
MAX_STEPS = 12
_CELL = 16  # Pixels from one place to the next; 5 of them fit into 84.


class Corridor(gymnasium.Env):
  """Five places in a row; episodes begin in the middle, end at both ends.

  A step to the right pays 0.1; to arrive at the right end pays 1 more.
  """

  metadata = {'render_modes': []}

  def __init__(self):
    shape = (atari.FRAME_SIZE, atari.FRAME_SIZE)
    self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
    self.action_space = gymnasium.spaces.Discrete(2)
    self._place = START

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._place = START
    return frame(self._place), {}

  def step(self, action):
    self._place += 1 if action == RIGHT else -1
    terminated = self._place in (0, NUM_PLACES - 1)
    paid = reward(self._place, action)
    return frame(self._place), paid, terminated, False, {}


def frame(place: int) -> np.ndarray:
  """Returns the picture [84, 84] of a place: a bright square on grey."""
  picture = np.full((atari.FRAME_SIZE, atari.FRAME_SIZE), 40, np.uint8)
  left = 2 + _CELL * place
  picture[34:50, left : left + _CELL] = 220
  return picture


def reward(place: int, action: int) -> float:
  """Returns the reward of arriving in `place` by `action`."""
  return 0.1 * (action == RIGHT) + float(place == NUM_PLACES - 1)


def make(max_episode_steps: int | None = None) -> gymnasium.Env:
  """Returns the corridor with stacks of frames, as Atari's games have."""
  env = wrappers.FrameStackObservation(
      Corridor(), atari.FRAME_STACK, padding_type='zero'
  )
  return wrappers.TimeLimit(env, max_episode_steps or MAX_STEPS)


def value(probability_right: float, gamma: float) -> float:
  """Returns the (1-gamma)-normalised value of a policy, without time limit.

  Args:
    probability_right: of a step to the right, in all states.
    gamma: discount.
  """
  steps = np.zeros((NUM_PLACES, NUM_PLACES))
  rewards = np.zeros(NUM_PLACES)
  inner = range(1, NUM_PLACES - 1)
  for place in inner:
    for action, probability in (
        (LEFT, 1.0 - probability_right), (RIGHT, probability_right)
    ):
      after = place + (1 if action == RIGHT else -1)
      rewards[place] += probability * reward(after, action)
      steps[place, after] += probability * (after in inner)
  values = np.linalg.solve(np.eye(NUM_PLACES) - gamma * steps, rewards)
  return float((1.0 - gamma) * values[START])
