"""Tests for the Atari pre-processing against a plain reimplementation."""

import ale_py
import cv2
import gymnasium
import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf.environments import atari


class _PlainPong:
  """Pre-processing frame by frame, as the paper's appendix words it."""

  def __init__(self, game: str, seed: int):
    self._env = gymnasium.make(
        game, frameskip=1, repeat_action_probability=0.0, obs_type='grayscale'
    ).unwrapped
    self._env.reset(seed=0)
    self._env.reset()
    self._rng = np.random.default_rng(seed)
    self._executed = None
    self._states = [self._small(self._env.ale.getScreenGrayscale())]

  def _small(self, frame):
    return cv2.resize(frame, (84, 84), interpolation=cv2.INTER_AREA)

  def stack(self):
    states = [np.zeros((84, 84), np.uint8)] * 3 + self._states
    return np.stack(states[-4:], axis=-1)

  def step(self, action):
    frames, reward, done = [], 0.0, False
    for _ in range(4):
      executed = action
      if self._executed is not None and self._rng.uniform() < 0.25:
        executed = self._executed
      self._executed = executed
      frame, frame_reward, done, _, _ = self._env.step(executed)
      frames.append(frame.copy())
      reward += frame_reward
      if done:
        break
    self._states.append(self._small(np.max(frames[-2:], axis=0)))
    return self.stack(), float(np.clip(reward, -1.0, 1.0)), done


@pytest.mark.parametrize('game', ['ALE/Pong-v5', 'ALE/Breakout-v5'])
def test_equals_plain_reimplementation_frame_by_frame(game):
  env = environments.load(game, seed=3)
  observation = env.begin(0)
  seed = int(np.random.SeedSequence([3, 0]).generate_state(1)[0] >> 1)
  plain = _PlainPong(game, seed)
  np.testing.assert_array_equal(observation, plain.stack())
  rng = np.random.default_rng(0)
  num_actions = env.action_spec().maximum + 1
  num_rewards = 0
  # Random Breakout loses its five lives within a few hundred steps.
  for _ in range(700):
    action = int(rng.integers(num_actions))
    observation, reward, discount, last = env.advance(action)
    expected, expected_reward, done = plain.step(action)
    np.testing.assert_array_equal(observation, expected)
    assert reward == expected_reward
    assert (discount == 0.0) == done
    num_rewards += reward != 0.0
    if last:
      break
  assert num_rewards > 0
  assert last == (game == 'ALE/Breakout-v5')


def test_first_stack_is_zero_padded():
  observation = environments.load('ALE/Pong-v5').begin()
  assert observation.shape == (84, 84, 4)
  assert observation.dtype == np.uint8
  assert not observation[..., :3].any()
  assert observation[..., 3].any()


def test_actions_are_sticky_with_probability_a_quarter():
  """A repeated action shows as a frame that ignores the new action."""
  env = atari.make('ALE/Pong-v5')
  executed = []
  inner = env.unwrapped
  step = inner.step
  inner.step = lambda action: executed.append(int(action)) or step(action)
  env.reset(seed=0)
  for i in range(500):
    env.step(i % 6)
  chosen = np.repeat(np.arange(500) % 6, 4)
  # On the first frame of a new action the old one sticks with 0.25; on the
  # second with 0.25^2, and so on.
  executed = np.asarray(executed).reshape(-1, 4)
  kept = executed != chosen.reshape(-1, 4)
  np.testing.assert_allclose(
      kept[1:].mean(axis=0), 0.25 ** np.arange(1, 5), atol=0.06
  )


def test_game_runs_to_27000_steps_at_the_most():
  assert environments.time_limit('ALE/Pong-v5') == 27_000
  env = atari.make('ALE/Pong-v5', max_episode_steps=3)
  env.reset(seed=0)
  results = [env.step(0)[2:4] for _ in range(3)]
  assert results == [(False, False), (False, False), (False, True)]


def test_an_episode_does_not_depend_on_earlier_ones():
  """Krull starts in another way after the emulator's first reset."""

  def play(episodes):
    env = environments.load('ALE/Krull-v5')
    for episode in episodes:
      env.begin(episode)
      for i in range(60):
        observation = env.advance(i % 6)[0]
    return observation

  np.testing.assert_array_equal(play([2]), play([0, 1, 2]))


def test_all_five_games_load():
  assert ale_py.__version__
  for game in ('BeamRider', 'Krull', 'Breakout', 'Asterix', 'Pong'):
    env = environments.load(f'ALE/{game}-v5')
    assert env.observation_spec().shape == (84, 84, 4)
