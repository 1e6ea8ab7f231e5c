"""Tests for linear SR-DICE against exact solutions and plain numpy."""


import numpy as np
import pytest
import tensorflow as tf

import srdice_tf
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from srdice_tf.estimators.linear import group_sums
from tests import finite
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    linear_num_features=24, linear_ridge=1e-4, bootstrap_draws=20
)
_GAMMA = walk.GAMMA


def _fit(problem, seed=0, **changes):
  config = _CONFIG.replace(**changes)
  estimators = registry.make_estimators(
      ['linear_srdice'], problem, config, seed
  )
  training.PhaseTrainer(estimators).run()
  return estimators['linear_srdice']


@pytest.fixture(scope='module')
def mdp():
  return finite.random_mdp()


@pytest.fixture(scope='module')
def problem():
  return walk.problem(walk.dataset(seed=0))


@pytest.fixture(scope='module')
def fitted(problem):
  return _fit(problem)


def test_one_hot_features_give_the_exact_ratios(mdp):
  fitted = _fit(mdp.problem)  # Whatever lambda is for other features.
  np.testing.assert_allclose(
      fitted.ratios(), mdp.ratio[mdp.pairs], rtol=1e-6
  )
  assert float(fitted.estimate()) == pytest.approx(mdp.value, rel=1e-6)


def _plain_features(fitted, problem):
  """Features, next and start features as plain float64 arrays."""
  expectations = fitted._accumulator._expectations
  index = tf.range(problem.size)
  features = fitted.features
  now = features(problem.state_actions(index)).numpy().astype(np.float64)
  parts = []
  for support in (
      expectations.next_support(index),
      expectations.start_support(tf.range(problem.num_starts)),
  ):
    assert support.weights is None  # Of samples, all alike.
    values = [
        features(tf.concat([support.states, support.actions[:, m]], -1))
        for m in range(support.actions.shape[1])
    ]
    parts.append(np.mean(values, axis=0, dtype=np.float64))
  after = parts[0] * problem.not_done.numpy()[:, None]
  return now, after, parts[1].mean(0)


def _matrix(now, after):
  """C with the ridge of the config, by the textbook."""
  size, num_features = now.shape
  scale = np.trace(now.T @ now / size) / num_features
  ridge = _CONFIG['linear_ridge'] * scale * np.eye(num_features)
  return now.T @ (now - _GAMMA * after) / size + ridge


def test_estimate_is_lstdqs_value(problem, fitted):
  """Theorem 4, against plain numpy, up to the rounding of float32 features."""
  now, after, start = _plain_features(fitted, problem)
  rewards = problem.rewards.numpy().astype(np.float64)
  theta = np.linalg.solve(_matrix(now, after), now.T @ rewards / len(now))
  expected = (1.0 - _GAMMA) * start @ theta
  assert abs(expected) > 0.01
  assert float(fitted.estimate()) == pytest.approx(expected, rel=1e-6)


def test_equality_with_lstdq_is_that_of_float64(fitted):
  """From the same C: w.b is (1-gamma) phi0.theta to machine precision."""
  sums = fitted._accumulator.sums(fitted.features, 2)
  moments = sums.total(np.ones(2))
  theta = np.linalg.solve(moments.matrix(1e-4), moments.products[:, -1])
  direct = (1.0 - _GAMMA) * moments.starts @ theta
  w = moments.solve(1e-4)
  assert moments.value(w) == pytest.approx(direct, rel=1e-12)


def test_successor_representation_leads_to_the_same_ratio(problem, fitted):
  """SR-DICE's closed form over psi: G w = (1-gamma) E[psi0]."""
  now, after, start = _plain_features(fitted, problem)
  gram, matrix = now.T @ now / len(now), _matrix(now, after)
  psi0 = gram @ np.linalg.solve(matrix.T, start)
  np.testing.assert_allclose(
      gram @ fitted._w.numpy(), (1.0 - _GAMMA) * psi0, rtol=1e-5
  )
  inputs = problem.state_actions(tf.range(5))
  expected = now[:5] @ np.linalg.solve(matrix, gram)
  np.testing.assert_allclose(fitted.successor(inputs), expected, rtol=1e-4)


def test_groups_and_chunks_change_nothing(problem, fitted, monkeypatch):
  accumulator = fitted._accumulator
  expected = accumulator.sums(fitted.features, 1).total(np.ones(1))
  monkeypatch.setattr(group_sums, 'CHUNK', 37)
  parts = accumulator.sums(fitted.features, 8)
  assert parts.counts.sum() == problem.size
  assert parts.start_counts.sum() == problem.num_starts
  found = parts.total(np.ones(8))
  for name in ('products', 'trace', 'starts', 'test_starts'):
    np.testing.assert_allclose(
        getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-8
    )


def test_a_group_is_the_data_of_its_episodes(problem, fitted):
  """Weights of the bootstrap count episodes, as if these alone were data."""
  sums = fitted._accumulator.sums(fitted.features, 4)
  weights = np.array([2.0, 0.0, 1.0, 0.0])
  found = sums.total(weights)
  episodes = problem.episodes.numpy()
  now, after, _ = _plain_features(fitted, problem)
  each = weights[episodes % 4]
  expected = (now * each[:, None]).T @ (now - _GAMMA * after) / each.sum()
  np.testing.assert_allclose(
      found.products[:, : now.shape[1]], expected, atol=1e-6
  )


def test_cross_fitting_measures_the_other_half(problem):
  """Fitted and measured by hand on even and odd episodes."""
  fitted = _fit(problem, linear_num_features=8)
  accumulator = fitted._accumulator
  now, after, _ = _plain_features(fitted, problem)
  tests = accumulator._tests[:, :-1].astype(np.float64)
  starts = accumulator._test_starts
  support = accumulator._expectations.start_support(
      tf.range(problem.num_starts)
  )
  phi0 = fitted.features.expected(support).numpy().astype(np.float64)
  odd = problem.episodes.numpy() % 2 == 1
  odd_starts = np.arange(problem.num_starts) % 2 == 1
  missed = []
  for fit, fit_starts in ((odd, odd_starts), (~odd, ~odd_starts)):
    rows, rest = now[fit], ~fit
    matrix = rows.T @ (rows - _GAMMA * after[fit]) / fit.sum()
    matrix += 1e-4 * np.mean(np.square(rows)) * np.eye(8)
    w = 0.1 * np.linalg.solve(matrix.T, phi0[fit_starts].mean(0))
    weighted = (now[rest] @ w) @ tests[rest] / rest.sum()
    missed.append(weighted - 0.1 * starts[~fit_starts].mean(0))
  expected = np.sqrt(np.mean(np.square(missed)))
  assert fitted.flow_residual().residual == pytest.approx(expected, rel=1e-5)


def test_selection_takes_the_smallest_residual(problem):
  fitted = _fit(problem, select='flow')
  residuals = [trial['flow_residual'] for trial in fitted.trials()]
  assert len(residuals) == 2 * 4 * 6 and residuals == sorted(residuals)
  best, score = fitted.trials()[0], fitted.flow_residual()
  assert score.residual == pytest.approx(best['flow_residual'], rel=1e-6)
  assert float(fitted.estimate()) == pytest.approx(best['estimate'], rel=1e-6)
  assert fitted.features.num_features == best['num_features']


def test_encoder_features_share_srdices_phase(problem):
  config = _CONFIG.replace(linear_features='random,encoder',
      select='flow',
      encoder_steps=5,
      num_features=8,
      hidden_units=8,
  )
  estimators = registry.make_estimators(
      ['linear_srdice', 'srdice'], problem, config, seed=0
  )
  linear, srdice = estimators.values()
  assert linear.phases[0] is srdice.phases[0] and len(linear.phases) == 2
  training.PhaseTrainer({'linear_srdice': linear}).run()
  kinds = {trial['kind'] for trial in linear.trials()}
  assert kinds == {'random', 'encoder'}
  sizes = {
      trial['num_features']
      for trial in linear.trials()
      if trial['kind'] == 'encoder'
  }
  assert sizes == {8 + 1}


def test_discrete_actions_have_exact_expectations(mdp):
  rng = tf.random.Generator.from_seed(0)
  expectations = action_expectations.Expectations(mdp.problem, 4, rng)
  support = expectations.next_support(tf.range(3))
  assert support.actions.shape[1] == 3  # All actions, not four samples.
  np.testing.assert_allclose(support.weights, 1.0 / 3.0, rtol=1e-6)


def test_standardisation(problem):
  centre, width = feature_maps.standardisation(problem)
  inputs = problem.state_actions(tf.range(problem.size)).numpy()
  inputs = inputs.astype(np.float64)
  np.testing.assert_allclose(centre[:2], inputs[:, :2].mean(0), rtol=1e-6)
  np.testing.assert_allclose(width[:2], inputs[:, :2].std(0), rtol=1e-6)
  scaled = (inputs[:, 2] - centre[2]) / width[2]
  assert scaled.min() == pytest.approx(-1.0)
  assert scaled.max() == pytest.approx(1.0)


def test_constant_dimensions_are_silent():
  data = walk.dataset(seed=0)
  rows = data.observations.rows.numpy()
  rows[:, 1] = 7.0  # A dead sensor.
  data.observations.rows = tf.constant(rows)
  problem = walk.problem(data)
  centre, width = feature_maps.standardisation(problem)
  assert centre[1] == 7.0 and width[1] == 1.0
  fitted = _fit(problem)
  assert np.isfinite(fitted.ratios()).all()


def test_saved_and_loaded_after_selection(problem, tmp_path):
  policy = walk.policy()
  config = _CONFIG.replace(select='flow')
  found = srdice_tf.evaluate(
      policy,
      walk.dataset(seed=0),
      'linear_srdice',
      _GAMMA,
      hyperparameters=config.changes(),
      seed=3,
      progress=False,
  )['linear_srdice']
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, walk.dataset(seed=0))
  np.testing.assert_array_equal(loaded.ratios, found.ratios)
  np.testing.assert_array_equal(
      loaded.estimator.draws, found.estimator.draws
  )
  assert loaded.estimator.trials() == found.estimator.trials() != []
  rewards = np.arange(problem.size)
  assert float(loaded.estimator.value_of(rewards)) == pytest.approx(
      np.mean(found.ratios * rewards), rel=1e-12
  )


def test_seed_determines_the_result(problem):
  first, second, third = _fit(problem, 1), _fit(problem, 1), _fit(problem, 2)
  np.testing.assert_array_equal(first.draws, second.draws)
  assert float(first.estimate()) == float(second.estimate())
  assert float(first.estimate()) != float(third.estimate())


@pytest.mark.parametrize(
    'changes, parts',
    [
        ({'select': 'truth'}, 'select=truth.*none, flow'),
        ({'linear_features': 'onehot'}, 'onehot.*integers'),
        ({'linear_features': 'randon'}, '^linear_features=randon.*encoder'),
        ({'linear_features': 'random,encoder'}, 'several.*select=flow'),
        ({'linear_num_features': 1}, 'linear_num_features=1.*at least 2'),
        ({'linear_ridge': -1.0}, 'linear_ridge=-1.0'),
        (
            {'linear_num_features': 10_000_000},
            '^linear_num_features=10000000.*GiB.*at most',
        ),
    ],
)
def test_bad_configs_are_refused_before_any_work(problem, changes, parts):
  with pytest.raises(errors.UserError, match=parts):
    config = _CONFIG.replace(**changes)
    registry.make_estimators(['linear_srdice'], problem, config, 0)


def test_one_episode_has_no_halves():
  problem = walk.problem(walk.dataset(seed=0, num_episodes=1))
  with pytest.raises(errors.UserError, match='^select=flow.*has 1'):
    registry.make_estimators(
        ['linear_srdice'],
        problem,
        _CONFIG.replace(select='flow'),
        0,
    )
  fitted = _fit(problem)
  assert np.isfinite(float(fitted.estimate()))
  assert fitted.flow_residual() is None
  trainer = training.PhaseTrainer({'linear_srdice': fitted})
  trainer.run()
  assert not trainer.has_diverged('linear_srdice')


def test_singular_system_names_lambda(mdp):
  """More features than pairs: C has no inverse."""
  changes = {'linear_features': 'random', 'linear_num_features': 200}
  with pytest.raises(errors.UserError, match='^linear_ridge=0.0.*singular'):
    _fit(mdp.problem, linear_ridge=0.0, **changes)
  assert np.isfinite(float(_fit(mdp.problem, **changes).estimate()))
