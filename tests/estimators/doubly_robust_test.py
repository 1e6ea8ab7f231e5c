"""Tests for doubly robust sums, against exact solutions."""


import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from srdice_tf.estimators.linear import srdice_lstd
from srdice_tf.estimators.tabular import tabular_estimator
from srdice_tf.evaluation import intervals
from tests import finite
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=20,
    successor_steps=20,
    updates=30,
    num_features=8,
    hidden_units=8,
    batch_size=32,
    start_pool=64,
    bootstrap_draws=20,
    lstd_ridge=1e-6,
)


def _make(problem, names=('dr',), **changes):
  config = _CONFIG.replace(**changes)
  return registry.make_estimators(names, problem, config, seed=0)


def _fit(problem, names=('dr',), **changes):
  made = _make(problem, names, **changes)
  training.PhaseTrainer(made).run()
  return made


class _Table(tf.Module):
  """Numbers of pairs (s, a), as ratios and as Q, in float64."""

  def __init__(self, table, mdp):
    super().__init__()
    self._table = tf.constant(table.ravel(), tf.float64)  # [S A]
    self._num_states = mdp.data.shape[0]
    self._pairs = mdp.pairs

  def ratio_of(self, problem):
    del problem
    return lambda: tf.gather(self._table, self._pairs)

  def __call__(self, inputs):
    states = tf.argmax(inputs[:, : self._num_states], 1)
    actions = tf.argmax(inputs[:, self._num_states :], 1)
    num_actions = inputs.shape[1] - self._num_states
    return tf.gather(self._table, states * num_actions + actions)[:, None]

  of_members = __call__


@pytest.fixture(scope='module', params=[0.0, 0.1], ids=['endless', 'ends'])
def mdp(request):
  """A random MDP that terminates after each pair with some probability."""
  return finite.random_mdp(termination=request.param)


def _q(mdp):
  """Returns Q [S, A] of the empirical MDP."""
  rewards = np.zeros(mdp.data.size)
  rewards[mdp.pairs] = mdp.dataset.rewards  # One for each pair.
  next_pairs = np.einsum('ijk,kl->ijkl', mdp.transition, mdp.policy)
  matrix = next_pairs.reshape(mdp.data.size, mdp.data.size)
  identity = np.eye(mdp.data.size)
  return np.linalg.solve(identity - finite.GAMMA * matrix, rewards)


def _value(mdp, ratio, q, **changes):
  (made,) = _make(
      mdp.problem, dr_ratio='linear_srdice', **changes
  ).values()
  made._parts[0] = made._parts[0]._replace(
      ratios=(_Table(ratio, mdp),), value_function=_Table(q, mdp)
  )
  made._sum_up()
  return float(made.estimate())


def test_exact_if_either_is_exact(mdp):
  rng = np.random.default_rng(0)
  wrong = rng.normal(size=mdp.data.size)
  with_ratio = _value(mdp, mdp.ratio, wrong)
  # Sums are float64, probabilities of the policy's actions float32.
  assert with_ratio == pytest.approx(mdp.value, rel=2e-7)
  assert _value(mdp, wrong, _q(mdp)) == pytest.approx(mdp.value, rel=2e-7)
  assert abs(_value(mdp, wrong, wrong) - mdp.value) > 0.1


def test_normalised_ratios_have_their_mass(mdp):
  """A wrong scale of exact ratios is mended by it."""
  wrong = np.random.default_rng(0).normal(size=mdp.data.size)
  assert abs(_value(mdp, 3.0 * mdp.ratio, wrong) - mdp.value) > 0.01
  mended = _value(mdp, 3.0 * mdp.ratio, wrong, dr_normalised=True)
  assert mended == pytest.approx(mdp.value, rel=1e-6)


@pytest.fixture(scope='module')
def problem():
  data = walk.dataset(seed=0, num_episodes=12)
  # So that the value is not near 0.
  return walk.problem(dataclasses.replace(data, rewards=data.rewards + 1.0))


@pytest.fixture(scope='module')
def fitted(problem):
  return _fit(problem, ('dr', 'srdice_lstd', 'deep_td'))


def test_sum_of_its_parts(problem, fitted):
  """By hand from ratios and Q, but for the actions that are drawn."""
  dr = fitted['dr']
  ratios = fitted['srdice_lstd'].ratios().numpy()
  np.testing.assert_allclose(dr.ratios(), ratios, rtol=1e-6)
  q = dr._parts[0].value_function
  draw = lambda inputs_of, size: np.mean(
      [
          q(inputs_of(tf.range(size), tf.random.Generator.from_seed(seed)))
          for seed in range(50)
      ],
      axis=0,
  )[:, 0]
  after = draw(problem.next_inputs, problem.size)
  now = q(problem.state_actions(tf.range(problem.size))).numpy()[:, 0]
  differences = problem.rewards + problem.gamma * problem.not_done * after - now
  start = draw(problem.start_inputs, problem.num_starts)
  expected = (1 - problem.gamma) * start.mean() + np.mean(ratios * differences)
  assert float(dr.estimate()) == pytest.approx(expected, rel=0.02)
  found = dr.details()
  total = found['value_term'] + found['correction']
  assert float(dr.estimate()) == pytest.approx(total)


def test_phases_are_shared(fitted):
  names = [phase.name for phase in fitted['dr'].phases]
  assert names == ['encoder', 'successor', 'srdice_lstd', 'deep_td', 'dr']
  assert fitted['dr'].flow_residual() == fitted['srdice_lstd'].flow_residual()


def test_interval_is_of_all_terms(problem, fitted):
  low, high, _ = fitted['dr'].interval()
  assert low < float(fitted['dr'].estimate()) < high
  episodes = problem.episodes.numpy()
  zeros = np.zeros(problem.size)
  values = np.random.default_rng(0).normal(size=problem.num_starts)
  found = intervals.of_terms(zeros, episodes, values, 2000)
  error = values.std(ddof=1) / np.sqrt(len(values))
  assert found.standard_error == pytest.approx(error, rel=0.1)


def test_episodes_add_up_to_the_estimate(problem, fitted):
  dr = fitted['dr']
  found = dr.episode_contributions()  # [m]
  assert found.sum() == pytest.approx(float(dr.estimate()), rel=1e-12)
  of_first = problem.episodes.numpy() == 0  # [n]
  expected = np.sum(dr._terms.numpy()[of_first]) / problem.size
  expected += (1 - problem.gamma) * dr._values.numpy()[0] / problem.num_starts
  assert found[0] == pytest.approx(expected, rel=1e-12)


def test_another_reward_is_refused(problem, fitted):
  with pytest.raises(errors.UserError, match='needs a Q of that reward'):
    fitted['dr'].value_of(problem.rewards)


@pytest.mark.parametrize('is_normalised', [False, True])
def test_ratios_of_other_data_are_those_of_its_method(problem, is_normalised):
  dr = _fit(problem, dr_normalised=is_normalised)['dr']
  np.testing.assert_allclose(dr.ratio_of(problem)(), dr.ratios(), rtol=1e-6)
  other = problem.of_episodes(np.arange(3))
  expected = dr._parts[0].ratios[0].ratio_of(other)()
  factor = dr._factor.numpy()
  assert (factor == 1.0) != is_normalised
  np.testing.assert_allclose(dr.ratio_of(other)(), factor * expected)


def test_ratios_of_other_data_are_the_mean_of_the_folds(problem):
  dr = _fit(problem, dr_folds=2)['dr']
  first, second = (part.ratios[0].ratio_of(problem)() for part in dr._parts)
  np.testing.assert_allclose(dr.ratio_of(problem)(), (first + second) / 2)


def test_folds_are_fitted_to_the_others(problem):
  dr = _fit(problem, dr_folds=2)['dr']
  assert len(dr._parts) == 2
  rows = np.concatenate([part.rows for part in dr._parts])
  assert sorted(rows) == list(range(problem.size))
  first = dr._parts[0]
  assert first.ratios[0].problem.num_starts == 6
  alone = first.ratios[0].problem.rewards.numpy()
  is_even = problem.episodes.numpy() % 2 == 0
  np.testing.assert_array_equal(alone, problem.rewards.numpy()[~is_even])
  np.testing.assert_array_equal(
      first.problem.rewards, problem.rewards.numpy()[is_even]
  )
  assert np.isfinite(float(dr.estimate()))
  assert dr.flow_residual().scored_on == 'cross-fit'
  assert dr.flow_noise() > 0.0
  # Methods fitted to all episodes are its relatives all the same.
  assert dr.sources == _make(problem)['dr'].sources
  assert {'successor', 'deep_td'} <= {*dr.sources}


def test_flow_of_folds_on_held_out_episodes(problem):
  fitted = problem.of_episodes(np.arange(8))
  held_out = problem.of_episodes(np.arange(8, 12))
  made = registry.make_estimators(
      ('dr',), fitted, _CONFIG.replace(dr_folds=2), 0, held_out
  )
  training.PhaseTrainer(made).run()
  found = made['dr'].flow_residual()
  expected = made['dr'].shared.flow_test.residual(
      made['dr'].ratio_of(held_out)()
  )
  assert (found.residual, found.scored_on) == (expected, 'held-out')
  assert made['dr'].flow_noise() > 0.0


def test_ratios_of_the_range_alone_train_no_part_of_the_value(problem):
  dr = _make(problem, dr_range_ratios='linear_srdice,srdice')['dr']
  assert 'linear_srdice' in {phase.name for phase in dr.phases}
  assert not {'linear_srdice', 'srdice'} & {*dr.sources}


def test_range_holds_what_others_say(problem):
  """Those of another ratio, of other networks, and of each part alone."""
  made = _fit(
      problem,
      ('dr', 'srdice_lstd', 'srdice_closed', 'deep_td'),
      dr_range_ratios='srdice_closed, srdice_lstd',
      value_members=2,
      value_member_units=8,
  )
  dr = made['dr']
  sums = dr._sums.numpy()
  assert sums.shape == (3, 3)
  assert sums[0, 0] == pytest.approx(float(dr.estimate()))
  assert sums[2, 0] == pytest.approx(float(made['srdice_lstd'].estimate()))
  assert sums[2, 1] == pytest.approx(float(made['srdice_closed'].estimate()))
  assert sums[0, 2] == pytest.approx(float(made['deep_td'].estimate()), rel=0.1)
  assert len(np.unique(sums[:2, :2])) == 4
  found = dr.details()
  assert found['range_low'] <= np.nanmin(sums)
  assert np.nanmax(sums) <= found['range_high']
  named = {name: x for name, x in found.items() if name.startswith('sum')}
  assert len(named) == 8 and named['sum_q1_srdice_lstd'] == sums[1, 0]
  assert named['sum_q0'] == sums[0, 2]
  assert named['sum_srdice_closed'] == sums[2, 1]
  low, high, _ = dr.interval()
  assert found['range_low'] < low < high < found['range_high']
  assert 'no 95% interval' in dr.lines()[1]
  assert 'from its bootstrap' in dr.lines()[1]
  few = _make(problem, bootstrap_draws=5)['dr']
  assert few.interval() is None and 'bootstrap' not in few.lines()[1]


def test_bad_settings(problem):
  with pytest.raises(errors.UserError, match='nonsense.*no such estimator'):
    _make(problem, dr_ratio='nonsense')
  with pytest.raises(errors.UserError, match='^dr_ratio=tabular.*expected int'):
    _make(problem, dr_ratio='tabular_srdice')
  one = problem.of_episodes(np.array([0]))
  with pytest.raises(errors.UserError, match='dr_folds=2.*of episodes, 1'):
    _make(one, dr_folds=2)
  for field in ('dr_ratio', 'dr_range_ratios'):
    with pytest.raises(errors.UserError, match=f'^{field}=deep_td.*no density'):
      _make(problem, **{field: 'deep_td'})


def test_folds_need_ratios_of_other_pairs(problem, monkeypatch):
  assert not tabular_estimator.TabularEstimator.GENERALISES
  monkeypatch.setattr(srdice_lstd.SRDICELstd, 'GENERALISES', False)
  _make(problem)
  with pytest.raises(errors.UserError, match='dr_folds=2.*with srdice_lstd'):
    _make(problem, dr_folds=2)


@pytest.mark.parametrize(
    ('field', 'value', 'reason'),
    [
        ('dr_ratio', 'srdise', 'did you mean srdice'),
        ('dr_ratio', 'deep_td', 'no density ratios'),
        ('dr_range_ratios', 'linear_srdice,deep_td', 'no density ratios'),
        ('dr_range_ratios', 'srdice_lstd,foo', 'no such estimator'),
        ('dr_ratio', 'dr', 'ratios of its own'),
        ('dr_range_ratios', 'srdice, dr', 'ratios of its own'),
    ],
)
def test_names_of_other_methods(field, value, reason):
  with pytest.raises(errors.UserError, match=f'^{field}=.*{reason}'):
    _CONFIG.replace(**{field: value}).for_methods(['dr'])


def test_config_has_the_fields_of_its_parts():
  found = _CONFIG.replace(dr_ratio='srdice').for_methods(['dr'])
  assert {'dr', 'srdice', 'representation', 'value_function'} <= found.keys()
