"""Tests for SR-DICE in closed form, against what is computed from its parts."""


import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import srdice_tf
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import flow
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=300,
    successor_steps=400,
    updates=20,
    num_features=16,
    hidden_units=16,
    batch_size=64,
    ratio_batch_size=64,
    learning_rate=3e-3,
    tau=0.05,
    ridge=1e-3,
    start_pool=20_000,
    bootstrap_draws=30,
)
_NAMES = ('srdice', 'srdice_closed')


@pytest.fixture(scope='module')
def dataset():
  data = walk.dataset(seed=0)
  # So that the value is not near 0.
  return dataclasses.replace(data, rewards=data.rewards + 1.0)


@pytest.fixture(scope='module')
def fitted(dataset):
  estimators = registry.make_estimators(
      _NAMES, walk.problem(dataset), _CONFIG, seed=0
  )
  training.PhaseTrainer(estimators).run()
  return estimators


def _forward(network, inputs):
  """Returns the outputs of dense layers with ReLU between them, by hand."""
  *hidden, last = zip(*[iter(network.get_weights())] * 2)
  for kernel, bias in hidden:
    inputs = np.maximum(inputs @ kernel + bias, 0.0)
  return inputs @ last[0] + last[1]


def _phi(representation, dataset):
  """Returns phi [n, F] of the data and the square root of n times the ridge."""
  index = tf.range(dataset.num_transitions)
  pairs = np.concatenate([dataset.states(index), dataset.actions], 1)
  phi = _forward(representation._encoder._encoder, pairs.astype(np.float64))
  phi = np.maximum(phi, 0.0)
  return phi, np.sqrt(_CONFIG['ridge'] * np.square(phi).sum() / phi.shape[1])


def test_theorem_4_from_the_parts(dataset, fitted):
  """The estimate is that of rewards fitted to phi, at fresh start pairs."""
  representation = fitted['srdice_closed']._representation
  phi, ridge = _phi(representation, dataset)
  weights, *_ = np.linalg.lstsq(  # A ridge is rows of zero rewards.
      np.concatenate([phi, ridge * np.eye(phi.shape[1])]),
      np.concatenate([dataset.rewards, np.zeros(phi.shape[1])]),
      rcond=None,
  )
  starts = dataset.initial_states(tf.range(dataset.num_initial_states)).numpy()
  starts = np.repeat(starts, 500, 0)
  actions = np.random.default_rng(5).uniform(-1.0, 1.0, [len(starts), 1])
  pairs = np.concatenate([starts, actions], 1)
  values = _forward(representation._successor, pairs) @ weights
  values *= 1.0 - walk.GAMMA  # [20,000]
  # The estimator's pool and ours are as large.
  error = np.sqrt(2.0) * values.std() / np.sqrt(len(values))
  assert error < 2e-3 * values.mean()
  for found in (
      fitted['srdice_closed'].estimate(),
      fitted['srdice'].details()['closed_form'],
      fitted['srdice'].details()['least_squares_deep_sr'],
  ):
    assert float(found) == pytest.approx(values.mean(), abs=4.0 * error)


def test_ratios_are_linear_in_phi(dataset, fitted):
  """By hand: G w = (1-gamma) E[psi0], ratio = w.phi."""
  closed = fitted['srdice_closed']
  phi, ridge = _phi(closed._representation, dataset)  # [n, F]
  gram = phi.T @ phi + ridge**2 * np.eye(phi.shape[1])
  start = closed._representation.start_successors.numpy().mean(0)  # [F]
  w = (1.0 - walk.GAMMA) * len(phi) * np.linalg.solve(gram, start)
  expected = phi @ w
  ratios = closed.ratios().numpy()
  assert ratios.dtype == np.float64
  np.testing.assert_allclose(ratios, expected, atol=2e-3 * expected.std())
  index = tf.range(dataset.num_transitions)
  found = closed.density_ratio(dataset.states(index), dataset.actions)
  np.testing.assert_allclose(found, ratios, atol=1e-4 * expected.std())


def test_phases_are_shared_and_one_is_added(fitted):
  first, second = (fitted[name].phases for name in _NAMES)
  assert first[0] is second[0] and first[1] is second[1]
  assert [(p.name, p.num_steps) for p in second[2:]] == [('srdice_closed', 1)]


def test_diagnosed_like_the_other_ratios(fitted):
  closed = fitted['srdice_closed']
  score = closed.flow_residual()
  assert score.scored_on == 'fitted'
  test = flow.FlowTest(closed.problem, flow.FlowTestConfig())
  residual = test.residual(closed.ratios())
  assert score.residual == pytest.approx(residual, rel=1e-4)
  low, high, _ = closed.interval()
  assert low < float(closed.estimate()) < high


def test_evaluated_saved_and_loaded(dataset, tmp_path):
  short = _CONFIG.replace(encoder_steps=20, successor_steps=20)
  found = srdice_tf.evaluate(
      walk.policy(),
      dataset,
      'srdice_closed',
      walk.GAMMA,
      hyperparameters=short.changes(),
      seed=2,
      progress=False,
  )['srdice_closed']
  assert found.value == pytest.approx(
      np.mean(found.ratios * dataset.rewards.numpy()), rel=1e-12
  )
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), walk.policy(), dataset)
  np.testing.assert_array_equal(loaded.ratios, found.ratios)
  assert loaded.value == found.value
  # Of other data it gives the ratios that it was fitted to give.
  part = dataset.of_episodes(np.array([1, 4]))
  loaded = srdice_tf.load(str(tmp_path), walk.policy(), part)
  rows = np.isin(dataset.episodes, [1, 4])
  np.testing.assert_allclose(loaded.ratios, found.ratios[rows], rtol=1e-4)


def test_singular_without_a_ridge(dataset):
  short = _CONFIG.replace(
      encoder_steps=1, successor_steps=1, updates=1, ridge=0.0
  )
  made = registry.make_estimators(_NAMES, walk.problem(dataset), short, seed=0)
  encoder = made['srdice']._representation._encoder._encoder
  encoder.variables[-1].assign(-100.0 * tf.ones([16]))  # Kills all of phi.
  with pytest.raises(errors.UserError, match='^ridge=0.0: the matrix of 16'):
    training.PhaseTrainer(made).run()
  assert made['srdice'].details() == {}
