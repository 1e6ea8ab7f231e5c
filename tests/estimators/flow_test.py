"""Tests for the flow residual against exact ratios and hand arithmetic."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import flow
from tests import finite
from tests import walk


def test_equation_by_hand():
  differences = tf.constant([0.5, 0.0])
  starts = tf.constant([3.0, -1.0])
  # Missed are 0.5 - 0.1 * 3 = 0.2 and 0 + 0.1 = 0.1.
  found = losses.flow_residual(differences, starts, 0.9)
  assert float(found) == pytest.approx(np.sqrt((0.04 + 0.01) / 2), rel=1e-5)


@pytest.mark.parametrize('make', [finite.chain, finite.random_mdp])
def test_exact_ratios_have_no_residual(make):
  """And they alone: what is off by a tenth is seen."""
  mdp = make()
  test = flow.FlowTest(mdp.problem, flow.FlowTestConfig())
  exact = mdp.ratio[mdp.pairs]
  assert test.residual(exact) < 1e-6
  rng = np.random.default_rng(0)
  wrong = exact * rng.uniform(0.9, 1.1, len(exact))
  assert test.residual(wrong) > 1e-4
  assert test.residual(0.0 * exact) > test.residual(wrong)


def test_functions_have_size_one_over_the_data():
  problem = walk.problem(walk.dataset(seed=0))
  rng = tf.random.Generator.from_seed(0)
  expectations = action_expectations.Expectations(problem, 2, rng)
  functions = flow.TestFunctions(
      expectations, feature_maps.standardisation(problem), 30
  )
  inputs = problem.state_actions(tf.range(problem.size))
  values = functions._functions(inputs) / functions._size
  sizes = np.sqrt(np.mean(np.square(values), axis=0))
  np.testing.assert_allclose(sizes, 1.0, rtol=1e-4)


def test_terminal_steps_have_no_next_function():
  problem = walk.problem(walk.dataset(seed=0))
  rng = tf.random.Generator.from_seed(0)
  expectations = action_expectations.Expectations(problem, 2, rng)
  functions = flow.TestFunctions(
      expectations, feature_maps.standardisation(problem), 30
  )
  ends = np.flatnonzero(problem.not_done.numpy() == 0.0)
  assert len(ends) > 3
  index = tf.constant(ends, tf.int32)
  now = functions._functions(problem.state_actions(index)) / functions._size
  np.testing.assert_allclose(functions.differences(index), now, rtol=1e-6)


def test_functions_do_not_depend_on_the_run():
  """Two problems over the same data are measured by the same functions."""
  mdp = finite.chain(repeats=3)
  ratios = np.random.default_rng(0).uniform(size=mdp.problem.size)
  first, second = (
      flow.FlowTest(mdp.problem, flow.FlowTestConfig()) for _ in range(2)
  )
  assert first.residual(ratios) == second.residual(ratios)


def test_noise_is_what_other_data_would_change():
  """The residual of fixed ratios varies by as much from data to data."""
  missed, noises = [], []
  for seed in range(12):
    problem = walk.problem(walk.dataset(seed, num_episodes=60, length=10))
    test = flow.FlowTest(problem, flow.FlowTestConfig())
    ratios = tf.ones(problem.size)
    means = tf.reduce_mean(test._differences, 0)
    missed.append(means - 0.1 * test._starts)
    noises.append(test.noise(ratios))
  spread = np.sqrt(np.var(missed, axis=0, ddof=1).mean())
  assert np.mean(noises) == pytest.approx(spread, rel=0.3)
  assert np.std(noises) < 0.2 * np.mean(noises)


def test_one_episode_says_nothing_of_noise():
  problem = walk.problem(walk.dataset(0, num_episodes=1))
  test = flow.FlowTest(problem, flow.FlowTestConfig())
  assert test.noise(tf.ones(problem.size)) is None
