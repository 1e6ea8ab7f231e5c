"""Tests for the intervals against known spreads."""

import numpy as np
import pytest

from srdice_tf.evaluation import intervals


def test_students_quantiles():
  found = intervals.around(1.0, 0.5, 9.0)
  assert found.low == pytest.approx(1.0 - 0.5 * 2.262157, rel=1e-5)
  assert found.high == pytest.approx(1.0 + 0.5 * 2.262157, rel=1e-5)
  assert found.standard_error == 0.5


def test_normal_draws_have_their_deviation():
  draws = np.random.default_rng(0).normal(5.0, 2.0, 200_000)
  found = intervals.of_draws(5.0, draws, num_units=50)
  assert found.standard_error == pytest.approx(
      2.0 * np.sqrt(50 / 49), rel=0.01
  )


def test_few_wild_draws_do_not_count():
  draws = np.random.default_rng(0).normal(size=1000)
  wild = np.concatenate([draws, [1e9, np.nan, np.inf]])
  first = intervals.of_draws(0.0, draws, 20)
  second = intervals.of_draws(0.0, wild, 20)
  assert second.standard_error == pytest.approx(first.standard_error, rel=0.01)


def test_what_cannot_be_told():
  assert intervals.of_draws(0.0, np.zeros(0), 20) is None
  assert intervals.of_draws(0.0, np.zeros(100), 1) is None
  assert intervals.of_draws(float('nan'), np.zeros(100), 20) is None


def test_episodes_are_drawn_whole():
  """All steps of an episode are equal: only episodes are independent."""
  rng = np.random.default_rng(0)
  per_episode = rng.normal(size=100)
  episodes = np.repeat(np.arange(100), 50)
  found = intervals.of_ratios(
      np.ones(5000), per_episode[episodes], episodes, 4000
  )
  expected = per_episode.std(ddof=1) / np.sqrt(100)
  assert found.standard_error == pytest.approx(expected, rel=0.05)
  # Taken one by one, steps would seem to tell seven times as much.
  alone = intervals.of_ratios(
      np.ones(5000), per_episode[episodes], np.arange(5000), 400
  )
  assert alone.standard_error < 0.2 * expected


def test_intervals_hold_the_truth_as_often_as_they_say():
  """Of means of episodes of unequal lengths; 400 data sets of 30."""
  rng = np.random.default_rng(1)
  held = 0
  for seed in range(400):
    lengths = rng.integers(5, 15, 30)
    rewards = np.repeat(rng.normal(1.0, 1.0, 30), lengths)
    episodes = np.repeat(np.arange(30), lengths)
    found = intervals.of_ratios(
        np.ones(len(rewards)), rewards, episodes, 200, seed
    )
    held += found.low <= 1.0 <= found.high
  assert 0.92 <= held / 400 <= 0.98


def test_spread_over_seeds_is_added():
  limits = [(0.0, 2.0), (2.0, 4.0)]
  low, high = intervals.over_seeds([1.0, 3.0], limits, [0.3, 0.5])
  error = np.sqrt((0.09 + 0.25) / 2 + 2.0)
  assert low == pytest.approx(2.0 - 1.96 * error)
  assert high == pytest.approx(2.0 + 1.96 * error)
  assert intervals.over_seeds([1.0], limits[:1], [0.3]) == (0.0, 2.0)
  assert intervals.over_seeds([1.0, 2.0], [None, (0, 1)], [None, 1]) is None
