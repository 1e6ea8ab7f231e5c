"""Atari pre-processing as in the paper (section 6 of its appendix)."""

import ale_py
import gymnasium
from gymnasium import wrappers
import numpy as np

FRAME_SKIP = 4
FRAME_STACK = 4
FRAME_SIZE = 84
MAX_AGENT_STEPS = 27_000
STICKY_PROBABILITY = 0.25

gymnasium.register_envs(ale_py)


def is_atari(env_id: str) -> bool:
  return env_id.startswith('ALE/')


class FrameSkip(wrappers.AtariPreprocessing):
  """Repeats an action, returns the maximum of the last two grey frames.

  gymnasium's own step keeps an old picture if the game ends within the repeated
  frames; the paper uses the last two frames before the end.
  """

  def reset(self, *, seed=None, options=None):
    # All randomness is in the sticky actions, which draw from np_random. A seed
    # given to ALE itself would load the ROM again: 150 ms instead of 8.
    if seed is not None:
      self.unwrapped.np_random = np.random.default_rng(seed)
    return super().reset(options=options)

  def step(self, action):
    total_reward = 0.0
    for _ in range(self.frame_skip):
      _, reward, terminated, truncated, info = self.env.step(action)
      total_reward += reward
      self.obs_buffer.reverse()
      self.ale.getScreenGrayscale(self.obs_buffer[0])
      if terminated or truncated:
        break
    return self._get_obs(), total_reward, terminated, truncated, info

  def _get_obs(self):
    # Pool into a new array. The parent pools in place, so that the older frame
    # would also be in the next maximum if a step ends early.
    newest = self.obs_buffer[0]
    self.obs_buffer[0] = np.maximum(*self.obs_buffer)
    observation = super()._get_obs()
    self.obs_buffer[0] = newest
    return observation


def make(env_id: str, max_episode_steps: int | None = None) -> gymnasium.Env:
  """Returns the pre-processed game: uint8 stacks [4, 84, 84], zeros first."""
  env = gymnasium.make(
      env_id,
      disable_env_checker=True,
      frameskip=1,
      obs_type='grayscale',
      repeat_action_probability=0.0,
      full_action_space=False,
  )
  # Some games start differently after the first reset than after later ones;
  # episodes must not depend on what was played before.
  env.reset(seed=0)
  env = wrappers.StickyAction(env, STICKY_PROBABILITY)
  env = FrameSkip(
      env, noop_max=0, frame_skip=FRAME_SKIP, screen_size=FRAME_SIZE
  )
  env = wrappers.ClipReward(env, -1.0, 1.0)
  env = wrappers.FrameStackObservation(env, FRAME_STACK, padding_type='zero')
  return wrappers.TimeLimit(env, max_episode_steps or MAX_AGENT_STEPS)


def preprocessing() -> dict:
  """Returns the settings, for the description of a data set."""
  return {
      'frame_skip': FRAME_SKIP,
      'frame_stack': FRAME_STACK,
      'frame_size': FRAME_SIZE,
      'sticky_probability': STICKY_PROBABILITY,
      'max_agent_steps': MAX_AGENT_STEPS,
      'clipped_rewards': True,
      'terminal_on_life_loss': False,
  }
