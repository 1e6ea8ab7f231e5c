"""Tests for held-out episodes, and for data that cannot be used."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.experiments import scoring
from srdice_tf.experiments import setup
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
  fit, held_out = scoring.split_episodes(40, 0.25, seed=3)
  assert len(held_out) == 10
  np.testing.assert_array_equal(np.sort([*fit, *held_out]), np.arange(40))
  again, _ = scoring.split_episodes(40, 0.25, seed=3)
  np.testing.assert_array_equal(fit, again)


@pytest.mark.parametrize('fraction', [0.001, 0.999])
def test_both_parts_need_an_episode(fraction):
  with pytest.raises(errors.UserError, match='--holdout_fraction'):
    scoring.split_episodes(40, fraction, seed=0)


def test_data_without_flags_or_starts():
  data = walk.dataset(seed=0, num_episodes=2)
  data.not_done = data.not_done * 0.99
  with pytest.raises(errors.UserError, match='not_done.*0.99.*0 or 1'):
    setup.check_dataset(data, 'somewhere')
  data.not_done = None
  with pytest.raises(errors.UserError, match='somewhere.*no terminal flags'):
    setup.check_dataset(data, 'somewhere')
  data.num_initial_states = 0
  with pytest.raises(errors.UserError, match='somewhere.*no start states'):
    setup.check_dataset(data, 'somewhere')
