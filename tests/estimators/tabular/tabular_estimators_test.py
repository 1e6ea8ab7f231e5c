"""Tests for the tabular estimators on data of finite MDPs."""


import numpy as np
import pytest
import tensorflow as tf

import srdice_tf
from srdice_tf import errors
from srdice_tf import finite as finite_lib
from srdice_tf import training
from srdice_tf.data import datasets
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import problems
from srdice_tf.estimators import registry
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import actions
from tests import finite

_NAMES = ['tabular_srdice', 'tabular_dual_dice']
_CONFIG = hyperparameters.Hyperparameters(successor_steps=3000, batch_size=128)


def _fit(problem, names=_NAMES, **changes):
  config = _CONFIG.replace(**changes)
  estimators = registry.make_estimators(names, problem, config, seed=0)
  training.PhaseTrainer(estimators).run()
  return list(estimators.values())


def _policy(shape, seed=0):
  return np.random.default_rng(seed).dirichlet(np.ones(shape[1]), shape[0])


def _terminating(seed=0):
  """Returns a problem whose transitions end the process in a fifth."""
  mdp = finite_mdps.random_mdp(8, 3, 4, seed)
  mdp.transition[...] *= 0.8
  counts = np.random.default_rng(seed).integers(5, 30, (8, 3))
  return finite.FiniteProblem(mdp, counts, _policy((8, 3)), starts=(1, 4, 4))


@pytest.mark.parametrize('name', _NAMES)
@pytest.mark.parametrize('seed', range(5))
def test_ratios_and_value_are_those_of_the_empirical_mdp(name, seed):
  problem = finite.random_mdp(
      seed=seed, policy=_policy((20, 3), seed), starts=(3, 3, 5)
  )
  (estimator,) = _fit(problem.problem, [name], tabular_regularizer=0.0)
  np.testing.assert_allclose(
      estimator.ratios(), problem.ratio[problem.pairs], rtol=1e-10
  )
  # Stored rewards are float32.
  assert float(estimator.estimate()) == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize('name', _NAMES)
def test_termination_ends_the_process(name):
  problem = _terminating()
  (estimator,) = _fit(problem.problem, [name], tabular_regularizer=0.0)
  np.testing.assert_allclose(
      estimator.ratios(), problem.ratio[problem.pairs], rtol=1e-10
  )
  mean = float(tf.reduce_mean(estimator.ratios()))
  assert 0.2 < mean < 0.6  # (1 - gamma) / (1 - 0.8 gamma) is 0.36.


def test_the_regularizer_of_dual_dice_changes_little():
  problem = finite.random_mdp()
  _, dual_dice = _fit(problem.problem)
  np.testing.assert_allclose(
      dual_dice.ratios(), problem.ratio[problem.pairs], atol=1e-6
  )
  _, dual_dice = _fit(problem.problem, tabular_regularizer=1.0)
  with pytest.raises(AssertionError):
    np.testing.assert_allclose(
        dual_dice.ratios(), problem.ratio[problem.pairs], atol=1e-2
    )


def test_given_transitions_give_the_exact_ratio():
  problem = finite.random_mdp()
  (estimator,) = _fit(
      problem.problem, ['tabular_srdice'], tabular_successor='given'
  )
  exact = finite_lib.occupancy(
      problem.problem.mdp.transition,
      problem.policy,
      problem.start,
      finite.GAMMA,
  )
  np.testing.assert_allclose(
      estimator.density_ratio(*np.indices((20, 3)).reshape(2, -1)),
      (exact / problem.data).ravel(),
      rtol=1e-9,
  )
  empirical, _ = _fit(problem.problem)
  assert np.abs(estimator.ratios() - empirical.ratios()).max() > 0.01


def test_td_learns_the_representation_of_deterministic_moves():
  problem = finite.chain()
  (estimator,) = _fit(
      problem.problem, ['tabular_srdice'], tabular_successor='td'
  )
  expected = finite_lib.successor_representation(
      problem.transition, problem.policy, finite.GAMMA
  )
  np.testing.assert_allclose(estimator.successors(), expected, atol=1e-6)
  np.testing.assert_allclose(
      estimator.ratios(), problem.ratio[problem.pairs], rtol=1e-6
  )


def test_td_with_noise_and_termination():
  problem = _terminating()
  (estimator,) = _fit(
      problem.problem,
      ['tabular_srdice'],
      tabular_successor='td',
      tabular_learning_rate=0.02,
  )
  np.testing.assert_allclose(
      estimator.ratios(), problem.ratio[problem.pairs], rtol=0.15
  )
  assert float(estimator.estimate()) == pytest.approx(problem.value, rel=0.03)


@pytest.mark.parametrize('kind', ['empirical', 'given', 'td'])
def test_theorem_2_of_each_representation(kind):
  (estimator,) = _fit(
      finite.random_mdp().problem,
      ['tabular_srdice'],
      tabular_successor=kind,
      successor_steps=50,
  )
  details = estimator.details()
  # The mean rewards of pairs are summed in another order.
  assert details['theorem_2_difference'] == pytest.approx(0.0, abs=1e-14)
  assert abs(details['direct_sr']) > 0.001
  assert details['missing_pairs'] == 0
  (line,) = estimator.lines()
  assert f'the SR itself {details["direct_sr"]:.6f} (theorem 2' in line


def test_details_compare_with_the_known_mdp():
  problem = finite.random_mdp()
  problem.problem.mdp = finite_lib.FiniteMDP(
      problem.transition, problem.problem.mdp.rewards, problem.start
  )
  for estimator in _fit(problem.problem):
    details = estimator.details()
    assert details['exact_value'] == pytest.approx(problem.value, rel=1e-9)
    assert details['ratio_mse'] < 1e-12


def _episodes(num_episodes=30, seed=0):
  """Returns the problem of episodes of various lengths, not cut in pairs."""
  mdp = finite_mdps.random_mdp(4, 2, 2, 1)
  rng = np.random.default_rng(seed)
  rows = []
  for _ in range(num_episodes):
    state = rng.integers(4)
    rows.append((state, 0, 0, 0.0))
    for _ in range(rng.integers(5, 40)):
      action = rng.integers(2)
      reward = mdp.rewards[state, action]
      state = rng.choice(4, p=mdp.transition[state, action])
      rows.append((state, 1, action, reward))
  states, kinds, taken, rewards = (np.array(x) for x in zip(*rows))
  dataset = datasets.Dataset.from_rows(
      states.astype(np.int64),
      kinds,
      taken.astype(np.int64),
      rewards.astype(np.float32),
      np.ones(len(rows), np.float32),
  )
  like = finite.FiniteProblem(
      mdp, np.full((4, 2), 3), np.array([[0.7, 0.3]] * 4)
  )
  return dataset, problems.Problem(
      dataset,
      actions.target_actions(like.target),
      vector_inputs.VectorInputs(*like.specs),
      finite.GAMMA,
  )


def test_dual_dice_with_discounted_data_transition_by_transition():
  """The sums of DualDICE's code, one transition after the other."""
  dataset, problem = _episodes()
  (estimator,) = _fit(
      problem, ['tabular_dual_dice'], tabular_discount_data=True
  )
  batch = dataset.batch(tf.range(dataset.num_transitions))
  begins = dataset.initial_states(dataset.episodes).numpy()
  policy, gamma = np.array([0.7, 0.3]), finite.GAMMA
  bellman, total, start = np.zeros((8, 8)), np.zeros(8), np.zeros(8)
  weights = gamma ** dataset.steps.numpy().astype(float)
  for s, a, t, begin, weight in zip(
      *(x.numpy() for x in (batch.states, batch.actions, batch.next_states)),
      begins,
      weights,
  ):
    bellman[2 * s + a, 2 * s + a] += weight
    bellman[2 * t : 2 * t + 2, 2 * s + a] -= gamma * weight * policy
    total[2 * s + a] += weight
    start[2 * begin : 2 * begin + 2] += weight * policy
  ratio = np.linalg.solve(bellman, (1 - gamma) * start)
  states, taken = np.divmod(np.arange(8), 2)
  np.testing.assert_allclose(
      estimator.density_ratio(states, taken), ratio, rtol=1e-6
  )
  pairs = 2 * batch.states.numpy() + batch.actions.numpy()
  value = np.sum(weights * ratio[pairs] * batch.rewards) / weights.sum()
  assert float(estimator.estimate()) == pytest.approx(value, rel=1e-6)
  (plain,) = _fit(problem, ['tabular_dual_dice'])
  assert abs(float(plain.estimate()) - value) > 1e-5


def test_truncation_is_not_the_end():
  """Episodes that are cut bootstrap from their last state."""
  dataset, problem = _episodes()
  (estimator, _) = _fit(problem)
  assert dataset.num_initial_states == 30
  mean = float(tf.reduce_mean(estimator.ratios()))
  assert mean == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize('name', _NAMES)
def test_values_vectors_and_saved_estimators(name, tmp_path):
  problem = finite.random_mdp()
  found = srdice_tf.evaluate(
      problem.target, problem.dataset, name, finite.GAMMA, progress=False
  )
  result = found[name]
  estimator = result.estimator
  rewards = np.random.default_rng(0).normal(size=len(problem.pairs))
  assert float(estimator.value_of(rewards)) == pytest.approx(
      np.mean(result.ratios * rewards), rel=1e-12
  )
  index = tf.range(len(problem.pairs))
  vectors = estimator.problem.state_actions(index)
  np.testing.assert_array_equal(estimator.ratio(vectors), result.ratios)
  srdice_tf.save(estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), problem.target, problem.dataset)
  np.testing.assert_array_equal(loaded.ratios, result.ratios)
  assert loaded.value == result.value


def test_given_transitions_by_the_library_call():
  problem = finite.random_mdp()
  found = srdice_tf.evaluate(
      problem.target,
      problem.dataset,
      'tabular_srdice',
      finite.GAMMA,
      hyperparameters={'tabular_successor': 'given'},
      mdp=problem.problem.mdp,
      progress=False,
  )
  (expected,) = _fit(
      problem.problem, ['tabular_srdice'], tabular_successor='given'
  )
  np.testing.assert_array_equal(
      found['tabular_srdice'].ratios, expected.ratios()
  )


def test_saved_td(tmp_path):
  problem = finite.chain()
  found = srdice_tf.evaluate(
      problem.target,
      problem.dataset,
      'tabular_srdice',
      finite.GAMMA,
      hyperparameters={'tabular_successor': 'td', 'successor_steps': 200},
      progress=False,
  )
  result = found['tabular_srdice']
  srdice_tf.save(result.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), problem.target, problem.dataset)
  np.testing.assert_array_equal(
      loaded.estimator.successors(), result.estimator.successors()
  )
  np.testing.assert_array_equal(loaded.ratios, result.ratios)


# Bad input.


def _without(pairs):
  """Returns the chain's problem with no data of some pairs."""
  counts = np.full((5, 2), 10)
  for state, action in pairs:
    counts[state, action] = 0
  return finite.FiniteProblem(finite_mdps.five_state_chain(), counts)


def test_missing_pairs_are_counted_and_weighed():
  problem = _without([(0, 1)]).problem
  # From x1 the first action leads to the pair in half of the cases, and all
  # that follows is unknown; else again: 0.5 / (1 - 0.45) of the mass.
  with pytest.raises(
      errors.UserError, match=r'lack 1 of the pairs.* hold 0\.909 of the mass'
  ):
    _fit(problem)
  (estimator,) = _fit(problem, ['tabular_srdice'], tabular_missing_mass=0.95)
  assert estimator.details()['missing_mass'] == pytest.approx(1 / 1.1)
  assert estimator.lines()[-1] == (
      'tabular_srdice: the data lack 1 pairs (s, a) that the target policy'
      ' visits, with 9.09e-01 of the mass of d_pi'
  )
  assert np.isnan(estimator.density_ratio([0], [1]))
  assert np.isfinite(estimator.ratios()).all()


def test_the_mass_of_missing_pairs_in_a_given_mdp_is_exact():
  problem = _without([(0, 1), (3, 0)])
  occupancy = problem.problem.mdp.occupancy(problem.policy, finite.GAMMA)
  mass = occupancy[0, 1] + occupancy[3, 0]
  with pytest.raises(errors.UserError, match=f'lack 2 .* {mass:.3g} of'):
    _fit(problem.problem, ['tabular_srdice'], tabular_successor='given')


def test_pairs_that_the_policy_does_not_visit_may_be_missing():
  counts = np.full((5, 2), 10)
  counts[4] = 0  # x5, and what leads there: pi never goes right of x3.
  policy = np.array([[0.5, 0.5], [0.5, 0.5], [1, 0], [0.5, 0.5], [0.5, 0.5]])
  counts[3, 1] = 0
  problem = finite.FiniteProblem(
      finite_mdps.five_state_chain(), counts, policy
  )
  for estimator in _fit(problem.problem):
    assert estimator.details()['missing_pairs'] == 0
    assert float(tf.reduce_mean(estimator.ratios())) == pytest.approx(1.0)


def _with_rows(rows):
  """Returns the problem of one episode with these states."""
  size = len(rows)
  dataset = datasets.Dataset.from_rows(
      np.asarray(rows),
      np.array([0] + [1] * (size - 1)),
      np.zeros(size, np.int64),
      np.zeros(size, np.float32),
      np.ones(size, np.float32),
  )
  like = finite.chain()
  return problems.Problem(
      dataset,
      like.problem.actions,
      like.problem.inputs,
      finite.GAMMA,
      cache=False,
  )


def test_states_outside_of_the_range():
  with pytest.raises(
      errors.UserError, match='2 states are outside of 0 to 4, such as 7'
  ):
    _fit(_with_rows([0, 7, -1, 1]))
  (estimator, _) = _fit(finite.chain().problem)
  with pytest.raises(errors.UserError, match='1 actions are outside of 0 to 1'):
    estimator.density_ratio([0, 1], [0, 2])


def test_states_that_are_no_integers():
  with pytest.raises(errors.UserError, match='states are float32.*integers'):
    _fit(_with_rows(np.zeros((3, 2), np.float32)))


def test_empty_data_set():
  problem = finite.chain()
  empty = problem.dataset.of_episodes(np.array([], int))
  with pytest.raises(errors.UserError, match='there are no transitions'):
    srdice_tf.evaluate(problem.target, empty, 'tabular_srdice')


def test_unknown_representation_and_unknown_mdp():
  problem = finite.chain().problem
  with pytest.raises(errors.UserError, match='tabular_successor=exact: exp'):
    _fit(problem, tabular_successor='exact')
  problem.mdp = None
  with pytest.raises(errors.UserError, match='tabular_successor=given: the'):
    _fit(problem, tabular_successor='given')


def test_policy_without_probabilities():
  problem = finite.chain().problem
  problem.actions = actions.TargetActions(finite.chain().target)
  with pytest.raises(errors.UserError, match='gives no probabilities'):
    _fit(problem)
