"""Tests for the way back from a data set to its episodes."""

import numpy as np
import pytest

from srdice_tf import data


def _episode(length, is_terminal, **fields):
  rng = np.random.default_rng(length)
  return data.Episode(**{
      'observations': rng.normal(size=(length + 1, 3)),
      'actions': rng.normal(size=(length, 2)),
      'rewards': rng.normal(size=length),
      'log_probabilities': rng.normal(size=length),
      'is_terminal': is_terminal,
      **fields,
  })


def _again(dataset):
  stack = dataset.observations.frame_stack
  return data.Dataset.from_episodes(dataset.to_episodes(), stack)


def test_episodes_give_the_same_data_again():
  given = [_episode(3, True), _episode(1, False), _episode(5, False)]
  dataset = data.Dataset.from_episodes(given)
  assert _again(dataset).checksum() == dataset.checksum()
  episodes = dataset.to_episodes()
  assert [each.is_terminal for each in episodes] == [True, False, False]
  np.testing.assert_array_equal(
      episodes[2].observations, given[2].observations.astype(np.float32)
  )


def test_frames_are_single_ones():
  frames = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
  dataset = data.Dataset.from_episodes(
      [data.Episode(frames, [0, 1], [1.0, 0.0], True)], frame_stack=4
  )
  assert dataset.to_episodes()[0].observations.shape == (3, 4, 4)
  assert _again(dataset).checksum() == dataset.checksum()


def test_a_part_has_its_own_episodes():
  given = [_episode(3, True), _episode(1, False), _episode(5, False)]
  part = data.Dataset.from_episodes(given).of_episodes(np.array([0, 2]))
  expected = data.Dataset.from_episodes([given[0], given[2]])
  assert _again(part).checksum() == expected.checksum()


def test_a_start_state_alone_is_left_out():
  dataset = data.Dataset.from_rows(
      rows=[[0.0], [1.0], [2.0]], step_types=[0, 2, 0],
      actions=[[0.0]] * 3, rewards=[0.0] * 3, not_done=[1.0] * 3,
  )
  assert len(dataset.to_episodes()) == 1


def test_transitions_that_are_no_whole_episodes_are_refused():
  dataset = data.Dataset.from_episodes([_episode(5, True)])
  with pytest.raises(ValueError, match='whole episodes'):
    dataset.thinned(2).to_episodes()
  ended = data.Dataset.from_rows(
      rows=[[0.0], [1.0], [2.0]], step_types=[0, 1, 2],
      actions=[[0.0]] * 3, rewards=[0.0] * 3, not_done=[1.0, 0.0, 1.0],
  )
  with pytest.raises(ValueError, match='whole episodes'):
    ended.to_episodes()
