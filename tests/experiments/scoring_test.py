"""Tests for held-out episodes and what is scored on them."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import flow
from srdice_tf.estimators import registry
from srdice_tf.experiments import scoring
from srdice_tf.experiments import setup
from tests import walk

_CONFIG = config_lib.Config(
    updates=20,
    num_features=8,
    hidden_units=8,
    ratio_batch_size=32,
    linear_num_features=16,
    bootstrap_draws=30,
)


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


@pytest.fixture(scope='module')
def fitted(dataset):
  fit, held_out = scoring.split_episodes(40, 0.5, seed=0)
  problems = [walk.problem(dataset.of_episodes(p)) for p in (fit, held_out)]
  estimators = registry.make_estimators(
      ['linear_srdice', 'dual_dice', 'deep_td'], problems[0], _CONFIG, 0
  )
  training.Trainer(estimators).run()
  return problems, estimators


def test_residuals_are_of_what_was_held_out(fitted):
  (problem, held_out), estimators = fitted
  scorer = scoring.Scorer(problem, held_out, _CONFIG, 0)
  test = flow.FlowTest(held_out, _CONFIG.linear_next_actions)
  for name in ('linear_srdice', 'dual_dice'):
    estimator = estimators[name]
    inputs = held_out.state_actions(tf.range(held_out.size))
    expected = test.residual(estimator.ratio(inputs))
    found = scorer.flow_residual(estimator)
    assert found == pytest.approx(expected, rel=1e-4)
    assert scorer.scored_on(estimator) == 'held-out'


def test_without_held_out_episodes(fitted):
  (problem, _), estimators = fitted
  scorer = scoring.Scorer(problem, None, _CONFIG, 0)
  linear, dual_dice, deep_td = estimators.values()
  assert scorer.scored_on(linear) == 'cross-fit'
  assert scorer.flow_residual(linear) == linear.flow_residual
  assert scorer.scored_on(dual_dice) == 'fitted'
  test = flow.FlowTest(problem, _CONFIG.linear_next_actions)
  assert scorer.flow_residual(dual_dice) == pytest.approx(
      test.residual(dual_dice.ratios()), rel=1e-4
  )
  assert scorer.scored_on(deep_td) is None
  assert scorer.flow_residual(deep_td) is None


def test_intervals_lie_around_the_estimates(fitted):
  (problem, _), estimators = fitted
  scorer = scoring.Scorer(problem, None, _CONFIG, 0)
  for name in ('linear_srdice', 'dual_dice'):
    low, high, error = scorer.interval(estimators[name])
    middle = float(estimators[name].estimate())
    assert (low + high) / 2 == pytest.approx(middle, rel=1e-3)
    assert error > 0.0
  assert scorer.interval(estimators['deep_td']) is None
  without = dataclasses.replace(_CONFIG, bootstrap_draws=0)
  scorer = scoring.Scorer(problem, None, without, 0)
  assert scorer.interval(estimators['dual_dice']) is None


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
