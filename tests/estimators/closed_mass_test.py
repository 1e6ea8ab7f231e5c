"""Tests for the mass of closed-form ratios, and for the choice of the ridge."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import closed_ridge
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import least_squares
from srdice_tf.estimators import registry
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=100,
    successor_steps=50,  # Too few: psi has far too little mass.
    num_features=12,
    hidden_units=12,
    batch_size=32,
    learning_rate=3e-3,
    start_pool=256,
    bootstrap_draws=0,
)


@pytest.fixture(scope='module')
def dataset():
  return walk.dataset(seed=0, num_episodes=10)


def _fit(dataset, **changes):
  made = registry.make_estimators(
      ['srdice_closed'],
      walk.problem(dataset),
      _CONFIG.replace(**changes),
      seed=0,
  )
  training.PhaseTrainer(made).run()
  return made['srdice_closed']


@pytest.fixture(scope='module')
def fitted(dataset):
  return _fit(dataset, closed_mass='flow', closed_select='flow')


def test_mean_is_1_where_nothing_ends(dataset):
  endless = dataclasses.replace(
      dataset, not_done=tf.ones_like(dataset.not_done)
  )
  assert abs(_fit(endless).ratios().numpy().mean() - 1.0) > 0.1
  found = _fit(endless, closed_mass='flow').ratios().numpy()
  assert found.mean() == pytest.approx(1.0, abs=1e-6)


def test_flow_of_the_constant_where_episodes_end(dataset, fitted):
  not_done = dataset.not_done.numpy()
  assert not_done.min() == 0.0
  ends = 1.0 - walk.GAMMA * not_done
  found = np.mean(fitted.ratios().numpy() * ends)
  assert found == pytest.approx(1.0 - walk.GAMMA, abs=1e-6)
  assert fitted.ratios().numpy().mean() < 1.0


def test_as_before_without_it(dataset):
  """The ratios of psi's mass are w.phi with G w = (1-gamma) E[psi0]."""
  closed = _fit(dataset)
  w = closed._representation.ratio_weights()
  phi = tf.cast(closed._representation.features, tf.float64)
  np.testing.assert_array_equal(closed.ratios(), tf.linalg.matvec(phi, w))


def test_well_conditioned_where_phi_nearly_spans_the_constant():
  """A constant as one more feature would not be: psi disagrees with it."""
  rng = np.random.default_rng(0)
  phi = np.abs(rng.normal(size=(500, 4))) + 0.5
  phi[:, 3] = 1.0 + 1e-4 * rng.normal(size=500)  # Nearly the constant.
  gamma, start = 0.9, 1.05 * phi.mean(0)  # 5% too much mass.
  system = closed_ridge.ClosedSystem(
      least_squares.LeastSquares(least_squares.gram_of(tf.constant(phi)), 0.0),
      tf.constant(start),
      tf.constant((1.0 - gamma) * phi.mean(0)),
      gamma,
  )
  found = phi @ system.weights(1e-8).numpy()
  assert found.mean() == pytest.approx(1.0)
  assert _effective_share(found) > 0.95
  wide = np.concatenate([phi, np.ones((500, 1))], 1)
  w = np.linalg.solve(wide.T @ wide / 500, np.append(start, 1.0))
  assert (wide @ w).mean() == pytest.approx(1.0)
  assert _effective_share(wide @ w) < 0.1


def _effective_share(ratios):
  return ratios.sum() ** 2 / np.square(ratios).sum() / len(ratios)


def test_ridge_has_the_smallest_residual_on_the_other_half(dataset, fitted):
  tried = fitted.trials()
  assert len(tried) == len(closed_ridge.RIDGES)
  residuals = [trial['flow_residual'] for trial in tried]
  assert residuals == sorted(residuals) and residuals[0] < residuals[-1]
  best = tried[0]
  given = _fit(dataset, closed_mass='flow', ridge=best['ridge'])
  np.testing.assert_allclose(given.ratios(), fitted.ratios(), rtol=1e-9)
  assert float(fitted.estimate()) == pytest.approx(best['estimate'])


def test_one_episode_has_no_other_half(dataset):
  one = dataset.of_episodes(np.array([0]))
  with pytest.raises(errors.UserError, match='closed_select=flow.*but one'):
    _fit(one, closed_select='flow')


def test_each_half_is_scored_with_the_fit_of_the_other():
  def half(feature, weight, scale):
    return closed_ridge._Half(
        tf.constant([[feature]]),
        types.SimpleNamespace(weights=lambda ridge: tf.constant([weight])),
        types.SimpleNamespace(
            residual=lambda ratios: scale * float(tf.reduce_sum(ratios))
        ),
    )

  halves = [half(2.0, 3.0, 10.0), half(5.0, 7.0, 100.0)]
  # The ratios are 3 * 5 and 7 * 2.
  expected = np.sqrt((1500.0**2 + 140.0**2) / 2)
  assert closed_ridge._score(halves, 0.1) == pytest.approx(expected)
