"""Tests of the corridor and of its exact value."""

import numpy as np

from srdice_tf import environments
from srdice_tf.environments import corridor


def test_an_episode_frame_by_frame():
  env = environments.load('PixelCorridor')
  assert env.frame_stack == 4
  observation = env.begin(0)
  assert observation.shape == (84, 84, 4)
  assert not observation[..., :3].any()
  np.testing.assert_array_equal(observation[..., 3], corridor.frame(2))
  results = [env.advance(action) for action in (0, 1, 1, 1)]
  stack = results[-1][0]
  for i, place in enumerate((1, 2, 3, 4)):
    np.testing.assert_array_equal(stack[..., i], corridor.frame(place))
  assert [result[1] for result in results] == [0.0, 0.0, 0.0, 1.0]
  ends = [result[2:] for result in results]
  assert ends == [(1.0, False)] * 3 + [(0.0, True)]


def test_pictures_of_all_places_differ():
  pictures = {corridor.frame(place).tobytes() for place in range(5)}
  assert len(pictures) == 5
  assert corridor.frame(4)[:, -2:].max() == 40  # The square is not cut off.


def test_the_value_is_that_of_played_episodes():
  # Always to the right: 1 a step later.
  assert np.isclose(corridor.value(1.0, 0.9), 0.1 * 0.9)
  assert corridor.value(0.0, 0.9) == 0.0
  rng, returns = np.random.default_rng(0), []
  for _ in range(20_000):
    place, discount, total = corridor.START, 1.0, 0.0
    while 0 < place < 4:
      action = int(rng.uniform() < 0.6)
      total += discount * corridor.reward(place)
      place += 2 * action - 1
      discount *= 0.9
    returns.append(0.1 * total)
  error = np.std(returns) / np.sqrt(len(returns))
  assert abs(np.mean(returns) - corridor.value(0.6, 0.9)) < 4.0 * error
