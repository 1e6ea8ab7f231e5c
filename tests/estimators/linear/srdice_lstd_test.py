"""Tests for linear SR-DICE over psi's hidden layer."""


import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import finite
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=50,
    successor_steps=100,
    num_features=8,
    hidden_units=24,
    batch_size=32,
    bootstrap_draws=20,
    lstd_ridge=1e-6,
)
_NAME = 'srdice_lstd'


def _fit(problem, **changes):
  config = _CONFIG.replace(**changes)
  estimators = registry.make_estimators([_NAME], problem, config, seed=0)
  training.PhaseTrainer(estimators).run()
  return estimators[_NAME]


@pytest.fixture(scope='module')
def problem():
  return walk.problem(walk.dataset(seed=0))


@pytest.fixture(scope='module')
def fitted(problem):
  return _fit(problem)


def test_exact_where_the_layer_tells_all_pairs_apart():
  """Hardly trained, on a finite MDP: the system knows all that psi does not."""
  mdp = finite.random_mdp()
  fitted = _fit(mdp.problem, hidden_units=128, lstd_ridge=1e-10)
  np.testing.assert_allclose(fitted.ratios(), mdp.ratio[mdp.pairs], rtol=1e-3)
  assert float(fitted.estimate()) == pytest.approx(mdp.value, rel=1e-4)


def test_features_are_the_layer_below_psi(problem, fitted):
  """Without the constant: psi is linear in them."""
  inputs = problem.state_actions(tf.range(50))
  features = fitted.features(inputs).numpy()  # [B, H + 1]
  assert features.shape == (50, 25)
  np.testing.assert_array_equal(features[:, -1], 1.0)
  representation = fitted.shared.representation
  *_, kernel, bias = representation._successor.get_weights()
  np.testing.assert_allclose(
      features[:, :-1] @ kernel + bias,
      representation.successor(inputs),
      atol=1e-5,
  )


def test_ratios_have_their_mass(problem, fitted):
  """The flow of the constant: E[ratio (1 - gamma not_done)] = 1 - gamma."""
  lost = 1.0 - problem.gamma * problem.not_done.numpy()
  mass = np.mean(fitted.ratios().numpy() * lost)
  assert mass == pytest.approx(1.0 - problem.gamma, rel=1e-3)


def test_ridge_is_chosen_by_flow(problem):
  chosen = _fit(problem, lstd_ridge=0.0)
  trials = chosen.trials()
  assert len({trial['ridge'] for trial in trials}) == len(trials) == 6
  residuals = [trial['flow_residual'] for trial in trials]
  assert residuals == sorted(residuals)
  assert float(chosen._ridge) == trials[0]['ridge']
  assert float(chosen.estimate()) == pytest.approx(trials[0]['estimate'])
  again = _fit(problem, lstd_ridge=trials[0]['ridge'])
  assert float(again.estimate()) == float(chosen.estimate())


def test_representation_is_that_of_srdice(problem, fitted):
  names = _NAME, 'srdice_closed'
  both = registry.make_estimators(names, problem, _CONFIG, seed=0)
  training.PhaseTrainer(both).run()
  assert float(both[_NAME].estimate()) == float(fitted.estimate())
  phases = {phase.name for each in both.values() for phase in each.phases}
  assert phases == {'encoder', 'successor', *names}


def test_one_episode_needs_a_ridge(problem):
  one = walk.problem(walk.dataset(seed=0).of_episodes(np.array([0])))
  with pytest.raises(errors.UserError, match='lstd_ridge=0.0.*half'):
    _fit(one, lstd_ridge=0.0)
  assert np.isfinite(float(_fit(one).estimate()))
