"""A corridor seen as pixels: the smallest task of Atari's shape, for tests."""

import gymnasium
from gymnasium import wrappers
import numpy as np

from srdice_tf.environments import atari

NUM_PLACES = 5
RIGHT = 1
START = 2
MAX_STEPS = 12
_CELL = 16  # Pixels from one place to the next; 5 of them fit into 84.


class Corridor(gymnasium.Env):
  """Five places in a row; episodes begin in the middle, end at both ends.

  A step from the place before the right end pays 1, whatever its direction:
  features of the state alone, as Atari's are, can tell the value.
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
    paid = reward(self._place)
    self._place += 1 if action == RIGHT else -1
    terminated = self._place in (0, NUM_PLACES - 1)
    return frame(self._place), paid, terminated, False, {}


def frame(place: int) -> np.ndarray:
  """Returns the picture [84, 84] of a place: a bright square on grey."""
  picture = np.full((atari.FRAME_SIZE, atari.FRAME_SIZE), 40, np.uint8)
  left = 2 + _CELL * place
  picture[34:50, left : left + _CELL] = 220
  return picture


def reward(place: int) -> float:
  """Returns the reward of a step from `place`."""
  return float(place == NUM_PLACES - 2)


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
    rewards[place] = reward(place)
    steps[place, place + 1] = probability_right * (place + 1 in inner)
    steps[place, place - 1] = (1.0 - probability_right) * (place - 1 in inner)
  values = np.linalg.solve(np.eye(NUM_PLACES) - gamma * steps, rewards)
  return float((1.0 - gamma) * values[START])
