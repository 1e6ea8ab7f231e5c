"""Tests for held-out episodes and what is scored on them."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import flow
from srdice_tf.estimators import registry
from srdice_tf.experiments import scoring
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    updates=20,
    num_features=8,
    hidden_units=8,
    ratio_batch_size=32,
    linear_num_features=16,
    bootstrap_draws=200,
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
  training.PhaseTrainer(estimators).run()
  return problems, estimators


def test_residuals_are_of_what_was_held_out(fitted):
  (problem, held_out), estimators = fitted
  scorer = scoring.Scorer(problem, held_out, _CONFIG, 0)
  test = flow.FlowTest(held_out, _CONFIG['linear_next_actions'])
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
  test = flow.FlowTest(problem, _CONFIG['linear_next_actions'])
  assert scorer.flow_residual(dual_dice) == pytest.approx(
      test.residual(dual_dice.ratios()), rel=1e-4
  )
  assert scorer.scored_on(deep_td) is None
  assert scorer.flow_residual(deep_td) is None


def test_the_interval_of_ratios_is_that_of_a_mean_over_episodes(fitted):
  """Against the textbook's error of a mean of clusters of unequal size."""
  (problem, _), estimators = fitted
  config = _CONFIG.replace(bootstrap_draws=4000)
  dual_dice, data = estimators['dual_dice'], problem.dataset
  low, high, error = scoring.Scorer(problem, None, config, 0).interval(
      dual_dice
  )
  weighted = dual_dice.ratios().numpy() * data.rewards.numpy()  # [n]
  mean = weighted.mean()
  left_over = [
      np.sum(weighted[data.episodes.numpy() == episode] - mean)
      for episode in range(20)
  ]  # [E]
  expected = np.sqrt(np.sum(np.square(left_over)) * 20 / 19) / len(weighted)
  assert error == pytest.approx(expected, rel=0.06)
  # Were steps independent, it would be half of it.
  assert weighted.std() / np.sqrt(len(weighted)) < 0.6 * expected
  # Student's t at 19 degrees, around the estimate itself.
  assert high - low == pytest.approx(2.0 * 2.09302 * error, rel=1e-5)
  estimate = float(dual_dice.estimate())
  assert low == pytest.approx(estimate - 2.09302 * error, rel=1e-4)


def test_the_interval_of_linear_srdice_is_that_of_the_jackknife(fitted):
  """Each episode left out once, and all solved anew, spreads as much."""
  (problem, _), estimators = fitted
  linear = estimators['linear_srdice']
  sums = linear._accumulator.statistics(linear.features, 20)
  values = []
  for episode in range(20):
    moments = sums.total(1.0 - np.eye(20)[episode])
    values.append(moments.value(moments.solve(_CONFIG['linear_ridge'])))
  expected = np.sqrt(19 * np.var(values))
  scorer = scoring.Scorer(problem, None, _CONFIG, 0)
  low, high, error = scorer.interval(linear)
  assert error == pytest.approx(expected, rel=0.25)
  assert high - low == pytest.approx(2.0 * 2.09302 * error, rel=1e-5)
  estimate = float(linear.estimate())
  assert low == pytest.approx(estimate - 2.09302 * error, rel=1e-4)


def test_no_interval_without_ratios_or_draws(fitted):
  (problem, _), estimators = fitted
  scorer = scoring.Scorer(problem, None, _CONFIG, 0)
  assert scorer.interval(estimators['deep_td']) is None
  without = _CONFIG.replace(bootstrap_draws=0)
  scorer = scoring.Scorer(problem, None, without, 0)
  assert scorer.interval(estimators['dual_dice']) is None
