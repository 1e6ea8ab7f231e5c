"""Tests for flow residuals and intervals: what is scored on which data."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import training
from srdice_tf.estimators import flow
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import walk

_VALUES = hyperparameters.Hyperparameters(
    updates=20,
    num_features=8,
    hidden_units=8,
    ratio_batch_size=32,
    linear_num_features=16,
    bootstrap_draws=200,
)
_NAMES = ['linear_srdice', 'dual_dice', 'deep_td']


def _fit(problem, held_out=None, **changes):
  values = _VALUES.replace(**changes)
  estimators = registry.make_estimators(_NAMES, problem, values, 0, held_out)
  training.PhaseTrainer(estimators).run()
  return estimators


@pytest.fixture(scope='module')
def problems():
  """What is fitted, and what is held out of it."""
  dataset = walk.dataset(seed=0)
  parts = np.arange(0, 40, 2), np.arange(1, 40, 2)
  return [walk.problem(dataset.of_episodes(part)) for part in parts]


@pytest.fixture(scope='module')
def fitted(problems):
  return _fit(problems[0])


def _flow_test(problem):
  return flow.FlowTest(problem, flow.FlowTestConfig())


def test_residuals_are_of_what_was_held_out(problems):
  problem, held_out = problems
  estimators = _fit(problem, held_out)
  test = _flow_test(held_out)
  for name in ('linear_srdice', 'dual_dice'):
    estimator = estimators[name]
    inputs = held_out.state_actions(tf.range(held_out.size))
    ratios = estimator.ratio(inputs)
    np.testing.assert_allclose(
        estimator.ratio_of(held_out)(), ratios, rtol=1e-4, atol=1e-6
    )
    score = estimator.flow_residual()
    assert score.residual == pytest.approx(test.residual(ratios), rel=1e-4)
    assert score.scored_on == 'held-out'


def test_without_held_out_episodes(problems, fitted):
  linear, dual_dice, deep_td = fitted.values()
  assert linear.flow_residual().scored_on == 'cross-fit'
  score = dual_dice.flow_residual()
  assert score.scored_on == 'fitted'
  expected = _flow_test(problems[0]).residual(dual_dice.ratios())
  assert score.residual == pytest.approx(expected, rel=1e-4)
  assert deep_td.flow_residual() is None


def test_an_estimator_without_ratios_has_none(problems, fitted):
  deep_td = fitted['deep_td']
  assert deep_td.ratios() is None
  assert deep_td.ratio_of(problems[1]) is None
  assert deep_td.interval() is None
  assert deep_td.details() == {}
  assert deep_td.lines() == [] and deep_td.trials() == []


def test_the_interval_of_ratios_is_that_of_a_mean_over_episodes(problems):
  """Against the textbook's error of a mean of clusters of unequal size."""
  dual_dice = _fit(problems[0], bootstrap_draws=4000)['dual_dice']
  low, high, error = dual_dice.interval()
  rewards, episodes = problems[0].rewards.numpy(), problems[0].episodes.numpy()
  weighted = dual_dice.ratios().numpy() * rewards  # [n]
  mean = weighted.mean()
  left_over = [
      np.sum(weighted[episodes == episode] - mean) for episode in range(20)
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
  """Each episode left out once, and all solved again, spreads as much."""
  linear = fitted['linear_srdice']
  sums = linear._accumulator.sums(linear.features, 20)
  values = []
  for episode in range(20):
    moments = sums.total(1.0 - np.eye(20)[episode])
    values.append(moments.value(moments.solve(_VALUES['linear_ridge'])))
  expected = np.sqrt(19 * np.var(values))
  low, high, error = linear.interval()
  assert error == pytest.approx(expected, rel=0.25)
  assert high - low == pytest.approx(2.0 * 2.09302 * error, rel=1e-5)
  estimate = float(linear.estimate())
  assert low == pytest.approx(estimate - 2.09302 * error, rel=1e-4)


def test_no_interval_without_draws(problems):
  without = _fit(problems[0], bootstrap_draws=0)
  assert without['dual_dice'].interval() is None
  assert without['linear_srdice'].interval() is None
