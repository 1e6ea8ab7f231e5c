"""Tests for parts of a data set that are whole episodes."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.experiments import episodes
from tests import walk


@pytest.fixture(scope='module')
def dataset():
  return walk.dataset(seed=0)


def test_a_part_is_its_episodes(dataset):
  numbers = np.array([1, 4, 5])
  part = dataset.of_episodes(numbers)
  (rows,) = np.nonzero(np.isin(dataset.episodes, numbers))
  assert part.num_transitions == len(rows)
  assert part.num_initial_states == 3
  np.testing.assert_array_equal(
      numbers[part.episodes.numpy()], dataset.episodes.numpy()[rows]
  )
  index = tf.range(part.num_transitions)
  for name in ('states', 'next_states'):
    np.testing.assert_array_equal(
        getattr(part, name)(index), getattr(dataset, name)(tf.constant(rows))
    )
  for name in ('actions', 'rewards', 'not_done', 'steps'):
    whole = getattr(dataset, name).numpy()
    np.testing.assert_array_equal(getattr(part, name), whole[rows])
  np.testing.assert_array_equal(
      part.initial_states(tf.range(3)),
      dataset.initial_states(tf.constant(numbers)),
  )
  assert dataset.num_initial_states == 40  # The whole is what it was.


def test_split_is_a_partition():
  fit, held_out = episodes.split(40, 0.25, seed=3)
  assert len(held_out) == 10
  np.testing.assert_array_equal(np.sort([*fit, *held_out]), np.arange(40))
  again, _ = episodes.split(40, 0.25, seed=3)
  np.testing.assert_array_equal(fit, again)


@pytest.mark.parametrize('fraction', [0.001, 0.999])
def test_both_sides_of_a_split_need_an_episode(fraction):
  with pytest.raises(errors.UserError, match='holdout_fraction'):
    episodes.split(40, fraction, seed=0)


def test_parts_make_up_the_whole(dataset):
  parts = [episodes.part(dataset, number, 3) for number in range(3)]
  assert [part.num_initial_states for part in parts] == [14, 13, 13]
  rewards = np.concatenate([part.rewards for part in parts])
  np.testing.assert_array_equal(rewards, dataset.rewards)


def test_parts_need_two_episodes_each(dataset):
  with pytest.raises(errors.UserError, match='num_parts=21: .*num_transitions'):
    episodes.part(dataset, 0, 21)
