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


def test_the_mean_over_seeds_has_students_interval():
  """4.303 and 12.706 are of the tables: 0.975 at 2 and 1 degrees."""
  limits = [(0.0, 9.0)] * 3  # Of the runs: no part of the spread over them.
  low, high = intervals.over_seeds([1.0, 2.0, 6.0], limits)
  half = 4.30265 * np.sqrt(7.0 / 3.0)  # Variances 4 + 1 + 9 over n - 1 = 2.
  assert (low, high) == pytest.approx((3.0 - half, 3.0 + half), rel=1e-5)
  low, high = intervals.over_seeds([1.0, 3.0], limits[:2])
  assert (low, high) == pytest.approx((2.0 - 12.7062, 2.0 + 12.7062), rel=1e-5)


def test_a_single_run_has_its_own_interval():
  assert intervals.over_seeds([1.0], [[0.0, 2.0]]) == (0.0, 2.0)
  assert intervals.over_seeds([1.0], [None]) is None


def test_methods_without_an_interval_have_one_over_seeds():
  low, high = intervals.over_seeds([1.0, 1.5, 2.0], [None] * 3)
  assert low < 1.5 < high


def test_a_diverged_run_leaves_no_interval():
  limits = [(0.0, 1.0), None]
  assert intervals.over_seeds([1.0, float('nan')], limits) is None


def test_the_mean_of_three_seeds_is_held_as_often_as_it_says():
  """1.96 standard errors would hold it in 81 of 100 cases only."""
  rng = np.random.default_rng(0)
  held = 0
  for _ in range(1000):
    low, high = intervals.over_seeds(rng.normal(1.0, 1.0, 3), [None] * 3)
    held += low <= 1.0 <= high
  assert 0.93 <= held / 1000 <= 0.97


def test_an_episode_may_have_a_start_and_no_transitions():
  """As the last one, if collecting ends right after its reset."""
  rng = np.random.default_rng(0)
  terms, episodes = rng.normal(size=60), np.arange(60) // 3  # 20 episodes
  starts = np.append(rng.normal(size=20), 0.3)
  found = intervals.of_terms(terms, episodes, starts, 2_000)
  assert found.low < terms.mean() + starts.mean() < found.high
  error = np.hypot(
      np.std(terms.reshape(20, 3).mean(1)) / np.sqrt(20),
      np.std(starts) / np.sqrt(21),
  )
  assert found.standard_error == pytest.approx(error, rel=0.25)
