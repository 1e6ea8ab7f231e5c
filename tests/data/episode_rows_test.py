"""Tests for data sets that are made from episodes."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import errors


def _episode(length, first=0.0, **fields):
  """Observes (first, step), acts by the step, and is paid 10 times the step."""
  steps = np.arange(length)
  return data.Episode(**{
      'observations': [[first, step] for step in range(length + 1)],
      'actions': steps[:, None] / 10,
      'rewards': 10.0 * steps,
      'is_terminal': False,
      **fields,
  })


def test_transitions_starts_and_ends():
  dataset = data.Dataset.from_episodes(
      iter([_episode(3, first=5.0, is_terminal=True), _episode(2)])
  )
  batch = dataset.batch(tf.range(dataset.num_transitions))
  np.testing.assert_array_equal(
      batch.states, [[5, 0], [5, 1], [5, 2], [0, 0], [0, 1]]
  )
  np.testing.assert_array_equal(
      batch.next_states, [[5, 1], [5, 2], [5, 3], [0, 1], [0, 2]]
  )
  np.testing.assert_allclose(batch.actions[:, 0], [0, 0.1, 0.2, 0, 0.1])
  np.testing.assert_array_equal(batch.rewards, [0, 10, 20, 0, 10])
  np.testing.assert_array_equal(batch.not_done, [1, 1, 0, 1, 1])
  np.testing.assert_array_equal(dataset.episodes, [0, 0, 0, 1, 1])
  np.testing.assert_array_equal(dataset.steps, [0, 1, 2, 0, 1])
  np.testing.assert_array_equal(
      dataset.initial_states(tf.range(2)), [[5, 0], [0, 0]]
  )
  assert dataset.log_probabilities is None
  assert batch.states.dtype == batch.actions.dtype == tf.float32


def test_rows_give_the_same_data_set():
  episodes = [
      _episode(2, first=1.0, is_terminal=True), _episode(1, first=2.0)
  ]
  rows = data.Dataset.from_rows(
      rows=[[1, 0], [1.0, 1], [1, 2], [2, 0], [2, 1]],
      step_types=[0, 1, 2, 0, 2],
      actions=[[0], [0], [0.1], [0], [0]],
      rewards=[0, 0, 10, 0, 0],
      not_done=[1, 1, 0, 1, 1],
  )
  assert data.Dataset.from_episodes(episodes).checksum() == rows.checksum()


def test_whole_numbers_stay_whole():
  dataset = data.Dataset.from_episodes([
      data.Episode(np.int8([3, 4]), np.int32([1]), [2], is_terminal=False)
  ])
  assert dataset.states([0]).dtype == dataset.actions.dtype == tf.int64
  assert dataset.rewards.dtype == tf.float32


def test_frames_are_stacked_within_their_episode():
  frames = np.arange(1, 4, dtype=np.uint8)[:, None, None] * np.ones((1, 2, 2))
  episode = data.Episode(
      frames.astype(np.uint8), np.zeros(2, int), np.zeros(2), False
  )
  dataset = data.Dataset.from_episodes([episode, episode], frame_stack=2)
  stacks = dataset.next_states(tf.range(4)).numpy()  # [4, 2, 2, 2]
  assert stacks.dtype == np.uint8
  np.testing.assert_array_equal(
      stacks[:, 0, 0], [[1, 2], [2, 3], [1, 2], [2, 3]]
  )
  starts = dataset.initial_states(tf.range(2)).numpy()
  np.testing.assert_array_equal(starts[:, 0, 0], [[0, 1], [0, 1]])


def test_log_probabilities_follow_their_transitions():
  dataset = data.Dataset.from_episodes([
      _episode(2, log_probabilities=[-1.0, -2.0]),
      _episode(1, log_probabilities=[-3.0]),
      _episode(2, log_probabilities=[-4.0, -5.0]),
  ])
  np.testing.assert_array_equal(
      dataset.log_probabilities, [-1, -2, -3, -4, -5]
  )
  part = dataset.of_episodes(np.array([0, 2]))
  np.testing.assert_array_equal(part.log_probabilities, [-1, -2, -4, -5])
  thin = dataset.thinned(2)
  np.testing.assert_array_equal(thin.log_probabilities, [-1, -3, -5])
  without = data.Dataset.from_episodes(
      [_episode(2), _episode(1), _episode(2)]
  )
  assert dataset.checksum() != without.checksum()


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'observations': [[0.0, 0.0]]}, r'observations have the shape \(1, 2'),
        ({'observations': 3.0}, r'observations have the shape \(\)'),
        ({'observations': [[0, 1], [2], [3]]}, 'observations are of object'),
        ({'observations': list('abc')}, 'observations are of <U1; expected'),
        ({'observations': np.zeros((3, 5))}, r'of shape \(5,\).*\(2,\)'),
        ({'actions': [[0.0]]}, r'actions have the shape \(1, 1\).*2 of them'),
        ({'actions': np.zeros((2, 4))}, r'actions are of shape \(4,\)'),
        ({'actions': ['left', 'right']}, 'actions are of <U5'),
        ({'rewards': [1.0, 2.0, 3.0]}, r'rewards have the shape \(3,\)'),
        ({'rewards': [[1.0], [2.0]]}, r'rewards have the shape \(2, 1\)'),
        ({'rewards': [None, None]}, 'rewards are of object'),
        ({'log_probabilities': [0.0, 0.0]}, 'are known; .*0 are missing'),
        ({'is_terminal': 'no'}, "is_terminal is 'no'; expected True or"),
        ({'is_terminal': None}, 'is_terminal is None; expected'),
        ({'is_terminal': np.array([False, True])}, 'is_terminal is array'),
    ],
)
def test_the_episode_that_is_none_is_named(fields, message):
  episodes = [_episode(3), _episode(2, **fields)]
  with pytest.raises(errors.UserError, match=f'^episode 1: .*{message}'):
    data.Dataset.from_episodes(episodes)


def test_no_episodes():
  with pytest.raises(errors.UserError, match='data set: there are no episodes'):
    data.Dataset.from_episodes([])
