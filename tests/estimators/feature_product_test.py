"""Tests for w of SR-DICE and Deep SR: one convention, steps by hand, scale."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import srdice_tf
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import walk

_RATE = 0.01
_SMALL = {
    'encoder_steps': 0,
    'successor_steps': 0,
    'updates': 300,
    'num_features': 16,
    'hidden_units': 16,
    'ratio_batch_size': 32,
    'ratio_learning_rate': _RATE,
    'start_pool': 64,
}


@pytest.fixture(scope='module')
def problem():
  return walk.problem(walk.dataset(seed=0, num_episodes=10))


def _make(problem, names=('srdice', 'deep_sr'), **fields):
  config = hyperparameters.Hyperparameters(**{**_SMALL, **fields})
  return registry.make_estimators(names, problem, config, seed=0)


@pytest.mark.parametrize(
    'kind, is_normalised', itertools.product(['mean', 'sum'], [False, True])
)
def test_a_step_of_each_w_by_hand(problem, kind, is_normalised):
  """With an epsilon of 1 the first step of Adam is nearly linear."""
  made = _make(
      problem,
      feature_product=kind,
      normalise_features=is_normalised,
      ratio_adam_epsilon=1.0,
  )
  for name, estimator in made.items():
    estimator.phases[-1].prepare()
    w = estimator._product.w.numpy().astype(np.float64)
    if kind == 'mean':
      np.testing.assert_array_equal(w, np.ones(16))
    else:
      assert 0.0 < np.abs(w).max() <= 0.25  # 1 / sqrt(16)
    rng = tf.random.Generator.from_state(
        estimator.rng.state.numpy(), estimator.rng.algorithm
    )
    index = rng.uniform([32], 0, problem.size, tf.int32)
    phi = estimator._representation.features.numpy()  # [n, F]
    unit = 16.0 if kind == 'mean' else 1.0
    unit *= phi.mean() if is_normalised else 1.0
    batch = phi[index] / unit
    if name == 'srdice':
      row = rng.uniform([1], 0, len(estimator._start_minibatches), tf.int32)
      start = estimator._start_minibatches.numpy()[row[0]] / unit  # [F]
      slope = batch.T @ (batch @ w) / 32 - (1.0 - walk.GAMMA) * start
    else:
      rewards = problem.rewards.numpy()[index]
      slope = 2.0 * batch.T @ (batch @ w - rewards) / 32
    estimator.phases[-1].step()
    np.testing.assert_allclose(
        estimator._product.w.numpy() - w,
        -_RATE * slope / (np.abs(slope) + 1.0),
        rtol=2e-3,
        atol=1e-7,
    )


def _shrink(estimator, factor):
  """Makes phi and psi smaller."""
  shared = estimator._representation
  for network in (shared._encoder._encoder, shared._successor):
    for variable in network.variables[-2:]:
      variable.assign(factor * variable)


def _fitted(problem, factor, **fields):
  made = _make(problem, **fields)
  _shrink(made['srdice'], factor)
  training.PhaseTrainer(made).run()
  return made


def test_the_scale_of_phi_does_not_matter(problem):
  """A power of 2 changes no digits: the same to the last bit."""
  large = _fitted(problem, 1.0, normalise_features=True)
  small = _fitted(problem, 2.0**-10, normalise_features=True)
  ratios = large['srdice'].ratios().numpy()
  np.testing.assert_array_equal(small['srdice'].ratios(), ratios)
  assert ratios.std() > 0.01
  for name in large:
    np.testing.assert_allclose(
        small[name].estimate(), large[name].estimate(), rtol=1e-6
    )
  # As printed it does: w cannot grow as far in as many steps.
  printed = _fitted(problem, 2.0**-10)['srdice'].ratios().numpy()
  assert abs(printed.mean()) < 0.1 * abs(ratios.mean())


def test_the_unit_is_that_of_the_data_that_w_was_fitted_to(problem, tmp_path):
  data = walk.dataset(seed=0, num_episodes=10)
  found = srdice_tf.evaluate(
      walk.policy(),
      data,
      'srdice',
      walk.GAMMA,
      hyperparameters={**_SMALL, 'normalise_features': True},
      progress=False,
  )['srdice']
  srdice_tf.save(found.estimator, str(tmp_path))
  part = data.of_episodes(np.array([1, 4]))
  loaded = srdice_tf.load(str(tmp_path), walk.policy(), part)
  rows = np.isin(data.episodes, [1, 4])
  np.testing.assert_allclose(loaded.ratios, found.ratios[rows], rtol=1e-4)
