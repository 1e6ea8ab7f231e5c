"""Tests for the estimators against exact solutions of small MDPs."""


import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import problems
from srdice_tf.estimators import registry
from tests import finite

# Small networks and large rates: minutes of the paper's schedule in seconds.
_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=1000,
    successor_steps=2000,
    updates=2000,
    num_features=64,
    hidden_units=64,
    batch_size=64,
    ratio_batch_size=128,
    learning_rate=1e-3,
    ratio_learning_rate=1e-2,
    tau=0.05,
    start_pool=256,
)


def _make(finite_problem, names, **changes):
  config = _CONFIG.replace(**changes)
  return registry.make_estimators(names, finite_problem.problem, config, seed=0)


def _train(finite_problem, names, **changes):
  estimators = _make(finite_problem, names, **changes)
  training.PhaseTrainer(estimators).run()
  return estimators


@pytest.fixture(scope='module')
def chain():
  return finite.chain()


@pytest.fixture(scope='module')
def on_chain(chain):
  return _train(chain, ['srdice', 'srdice_closed', 'deep_sr', 'deep_td'])


def test_values_on_the_chain(chain, on_chain):
  for name in ('deep_sr', 'deep_td'):
    value = float(on_chain[name].estimate())
    assert value == pytest.approx(chain.value, rel=0.1), name


def test_closed_form_ratio_on_the_chain(chain, on_chain):
  """Within 10% of the largest exact ratio, pair by pair."""
  closed = on_chain['srdice_closed']
  np.testing.assert_allclose(
      closed.ratios(), chain.ratio[chain.pairs], atol=0.1 * chain.ratio.max()
  )
  assert float(closed.estimate()) == pytest.approx(chain.value, rel=0.1)


def test_mean_ratio_of_on_policy_data(on_chain):
  """The uniform policy visits all pairs of the chain equally often.

  So these data are its own; no episode ends: ratios have the mean 1.
  """
  mean = np.mean(on_chain['srdice_closed'].ratios())
  assert mean == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ('name', 'hidden_units'), [('dual_dice', 64), ('gradient_dice', 32)]
)
def test_ratio_estimators_on_the_chain(chain, name, hidden_units):
  updates = 6_000
  estimators = _make(
      chain,
      [name],
      updates=updates,
      hidden_units=hidden_units,
      dual_dice_learning_rate=4e-4,
      gradient_dice_learning_rate=2e-4,
  )
  estimator, means = estimators[name], []
  training.PhaseTrainer(estimators, interval=100).run(
      lambda report: means.append(estimator.ratios().numpy().mean())
  )
  np.testing.assert_allclose(
      estimator.ratios(),
      chain.ratio[chain.pairs],
      atol=0.25 * chain.ratio.max(),
  )
  assert float(estimator.estimate()) == pytest.approx(chain.value, rel=0.2)
  # Players of a saddle point circle around it: their mean is what settles.
  half = updates // 200
  assert len(means) == 2 * half
  assert np.mean(means[half:]) == pytest.approx(1.0, abs=0.02)


def test_kept_ratios_follow_the_weights(chain):
  dual_dice = _train(chain, ['dual_dice'], updates=2)['dual_dice']
  inputs = chain.problem.state_actions(tf.range(chain.problem.size))
  before = dual_dice.ratios()
  assert dual_dice.ratios() is before
  training.PhaseTrainer({'dual_dice': dual_dice}).run()
  after = dual_dice.ratios()
  assert not np.allclose(before, after, atol=1e-4)
  np.testing.assert_allclose(after, dual_dice.ratio(inputs), atol=1e-6)


def test_random_mdp_with_unequal_data():
  mdp = finite.random_mdp()
  for name, estimator in _train(mdp, ['srdice_closed', 'deep_td']).items():
    value = float(estimator.estimate())
    assert value == pytest.approx(mdp.value, rel=0.05), name


def test_adam_converges_to_the_closed_form(chain, on_chain):
  """With few, well conditioned features; the ridge keeps the rest out."""
  estimators = _train(
      chain,
      ['srdice'],
      updates=20_000,
      learning_rate=3e-3,
      ratio_learning_rate=3e-3,
  )
  srdice = estimators['srdice']
  value = float(srdice.estimate())
  assert value == pytest.approx(srdice.details()['closed_form'], rel=0.02)
  assert np.mean(srdice.ratios()) == pytest.approx(1.0, abs=0.02)


def test_the_closed_form_in_words(on_chain):
  srdice = on_chain['srdice']
  (line,) = srdice.lines()
  value = srdice.details()['closed_form']
  assert line.startswith(f'srdice: closed form {value:.6f}, least-squares')
  assert 'theorem 4' in line
  assert on_chain['deep_sr'].lines() == []


def test_value_of_any_other_reward(chain, on_chain):
  srdice = on_chain['srdice']
  rewards = np.random.default_rng(0).uniform(size=chain.problem.size)
  ratios = srdice.ratios().numpy()
  assert float(srdice.value_of(rewards)) == pytest.approx(
      np.mean(ratios * rewards), rel=1e-4
  )
  np.testing.assert_allclose(
      srdice.value_of(chain.dataset.rewards), srdice.estimate(), rtol=1e-4
  )


def test_density_ratio_of_states_and_actions(chain, on_chain):
  srdice = on_chain['srdice']
  index = tf.range(chain.problem.size)
  found = srdice.density_ratio(
      chain.dataset.states(index), chain.dataset.actions
  )
  np.testing.assert_allclose(found, srdice.ratios(), rtol=1e-4, atol=1e-6)


def test_cached_policy_parameters_change_nothing(chain):
  cached = chain.problem
  plain = problems.Problem(
      chain.dataset, cached.actions, cached.inputs, cached.gamma, cache=False
  )
  for first, second in zip(
      cached.sample(64, tf.random.Generator.from_seed(1)),
      plain.sample(64, tf.random.Generator.from_seed(1)),
  ):
    np.testing.assert_array_equal(first, second)
  np.testing.assert_array_equal(
      cached.sample_starts(64, tf.random.Generator.from_seed(1)),
      plain.sample_starts(64, tf.random.Generator.from_seed(1)),
  )


def test_shared_phases_are_the_same_objects(chain):
  estimators = registry.make_estimators(
      ['srdice', 'deep_sr'], chain.problem, _CONFIG, seed=0
  )
  first, second = (e.phases for e in estimators.values())
  assert first[0] is second[0] and first[1] is second[1]
  assert first[2] is not second[2]


def test_the_start_pool_is_the_seeds_and_shared(chain, monkeypatch):
  pools, draw = [], chain.problem.start_pool

  def record(size, rng):
    pools.append(draw(size, rng).numpy())
    return pools[-1]

  monkeypatch.setattr(chain.problem, 'start_pool', record)
  for seed in (0, 1):
    estimators = registry.make_estimators(
        ['srdice', 'deep_sr', 'deep_td'], chain.problem, _CONFIG, seed
    )
    for estimator in estimators.values():
      estimator.phases[-1].prepare()
      estimator.estimate()
  # One pool for those over the representation, and the same for Deep TD.
  assert len(pools) == 4
  np.testing.assert_array_equal(pools[0], pools[1])
  np.testing.assert_array_equal(pools[2], pools[3])
  assert np.any(pools[0] != pools[2])


def test_an_estimator_does_not_depend_on_the_others(chain, on_chain):
  alone = _train(chain, ['deep_td'])['deep_td']
  np.testing.assert_array_equal(
      alone.estimate(), on_chain['deep_td'].estimate()
  )


def test_unknown_estimator():
  with pytest.raises(errors.UserError, match='^algo=srdise.*srdice'):
    registry.check_names(['srdise'])


@pytest.mark.parametrize(
    'name, activation',
    [('dual_dice', np.tanh), ('gradient_dice', lambda x: np.maximum(x, 0.0))],
)
def test_activations_of_the_minimax_networks(chain, name, activation):
  estimator = _make(chain, [name])[name]
  inputs = chain.problem.state_actions(tf.range(chain.problem.size))  # [n, 7]
  for network in (estimator._f, estimator._w):
    (k1, b1), (k2, b2), (k3, b3) = zip(*[iter(network.get_weights())] * 2)
    hidden = activation(activation(inputs @ k1 + b1) @ k2 + b2)
    np.testing.assert_allclose(network(inputs), hidden @ k3 + b3, atol=1e-5)
