"""Tests of estimators on data that come block by block."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.data import datasets
from srdice_tf.data import streamed
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import flow
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.policies import loading
from srdice_tf.policies import probability_tables
from srdice_tf.policies import settings
from tests.data import cut_segments

_GAMMA = 0.9
_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=3,
    successor_steps=3,
    updates=3,
    num_features=8,
    hidden_units=8,
    batch_size=4,
    ratio_batch_size=8,
    linear_num_features=6,
    start_pool=16,
    bootstrap_draws=4,
    tabular_missing_mass=1.0,
)


def _rows(observe, num_actions: int, num_episodes: int = 12):
  """Returns rows of episodes of 5 to 14 steps; some end, others are cut."""
  rng, rows = np.random.default_rng(0), []
  for _ in range(num_episodes):
    length = int(rng.integers(5, 15))
    for step in range(length + 1):
      is_last = step == length
      action = rng.integers(num_actions) if num_actions else rng.normal(size=1)
      rows.append((
          observe(rng),
          0 if not step else 2 if is_last else 1,
          np.float32(action) if not num_actions else action,
          rng.normal(),
          float(not is_last or rng.random() < 0.5),
      ))
  columns = zip(*rows)
  names = 'rows', 'step_types', 'actions', 'rewards', 'not_done'
  return {name: np.array(c) for name, c in zip(names, columns)}


class _Case:
  """The same data in memory and streamed, with a policy for them."""

  def __init__(self, policy, specs, dataset, mdp=None):
    self.dataset = dataset
    self.source = cut_segments.CutSegments(dataset)
    self.stream = streamed.StreamedDataset(self.source)
    make = lambda data: tasks.make_problem(policy, data, specs, _GAMMA, mdp)
    self.kept, self.streamed = make(dataset), make(self.stream)


@pytest.fixture(scope='module')
def finite():
  mdp = finite_mdps.random_mdp(4, 2, 3, 0)
  specs = tuple(
      array_spec.BoundedArraySpec((), np.int64, 0, n - 1) for n in (4, 2)
  )
  table = np.random.default_rng(1).dirichlet(np.ones(2), 4)
  policy = probability_tables.TabularPolicy(*specs, table)
  rows = _rows(lambda rng: rng.integers(4), 2)
  case = _Case(policy, specs, datasets.Dataset.from_rows(**rows), mdp)
  yield case
  case.stream.close()


@pytest.fixture(scope='module')
def vectors():
  env = environments.load('Pendulum-v1')
  specs = env.observation_spec(), env.action_spec()
  policy = loading.load('untrained', 'Pendulum-v1', *specs)
  policy = settings.target_policy(policy, 0.1)
  rows = _rows(lambda rng: rng.normal(size=3), 0)
  case = _Case(policy, specs, datasets.Dataset.from_rows(**rows))
  yield case
  case.stream.close()


@pytest.fixture(scope='module')
def frames():
  env = environments.load('PixelCorridor')
  specs = env.observation_spec(), env.action_spec()
  policy = loading.load('untrained', 'PixelCorridor', *specs)
  shape = specs[0].shape[:2]
  observe = lambda rng: rng.integers(0, 255, shape).astype(np.uint8)
  dataset = datasets.Dataset.from_rows(**_rows(observe, 2), frame_stack=4)
  case = _Case(settings.target_policy(policy, None), specs, dataset)
  yield case
  case.stream.close()


@pytest.fixture(params=['finite', 'vectors', 'frames'])
def case(request):
  return request.getfixturevalue(request.param)


def _fitted(problem, *names, **changes):
  config = _CONFIG.replace(**changes)
  estimators = registry.make_estimators(names, problem, config, seed=0)
  training.PhaseTrainer(estimators).run()
  return estimators


def test_a_pass_visits_each_transition_once(case):
  problem = case.streamed
  seen = np.zeros(problem.size, int)
  for index, numbers in problem.passing(4):
    seen[numbers] += 1
    index, numbers = index.numpy(), tf.constant(numbers)
    for name in ('states', 'next_states'):
      found = getattr(problem.loaded, name)(index)
      np.testing.assert_array_equal(found, getattr(case.kept, name)(numbers))
    for name in ('rewards', 'not_done', 'episodes', 'steps', 'logged_actions'):
      found = tf.gather(getattr(problem.loaded, name), index)
      expected = tf.gather(getattr(case.kept, name), numbers)
      np.testing.assert_array_equal(found, expected, name)
  np.testing.assert_array_equal(seen, 1)


def test_columns_are_those_of_the_data(case):
  for name in ('rewards', 'not_done', 'episodes', 'steps', 'logged_actions'):
    found, expected = (
        getattr(problem, name) for problem in (case.streamed, case.kept)
    )
    np.testing.assert_array_equal(found, expected, name)
  index = tf.range(case.kept.num_starts)
  np.testing.assert_array_equal(
      case.streamed.start_states(index), case.kept.start_states(index)
  )


def test_minibatches_are_drawn_from_all_transitions_alike(case):
  """By the rewards, of which no two are equal."""
  rng = tf.random.Generator.from_seed(0)
  draw = tf.function(lambda: case.streamed.sample_logged(512, rng))
  drawn = [draw() for _ in range(16)]
  rewards = np.concatenate([batch.rewards for batch in drawn])
  known, counts = np.unique(rewards, return_counts=True)
  np.testing.assert_array_equal(known, np.sort(case.kept.rewards))
  assert counts.min() > 0.4 * counts.mean()
  assert counts.max() < 1.8 * counts.mean()
  places = {float(r): i for i, r in enumerate(case.kept.rewards)}
  index = tf.constant([places[float(r)] for r in drawn[-1].rewards])
  np.testing.assert_array_equal(drawn[-1].states, case.kept.states(index))
  np.testing.assert_array_equal(
      drawn[-1].next_states, case.kept.next_states(index)
  )


_ON_VECTORS = [
    name for name in registry.ESTIMATORS if not name.startswith('tabular')
]
_ON_FRAMES = [
    name
    for name in _ON_VECTORS
    if name not in ('linear_srdice', 'srdice_lstd', 'dr')
]


def _check_methods(problem, names):
  for name, method in _fitted(problem, *names).items():
    assert np.isfinite(method.estimate()), name
    ratios = method.ratios()
    assert ratios is None or ratios.shape == [problem.size], name
    for find in (method.interval, method.flow_residual, method.details):
      find()


@pytest.mark.full
@pytest.mark.parametrize(
    ('kind', 'names'),
    [
        ('finite', list(registry.ESTIMATORS)),
        ('vectors', _ON_VECTORS),
        ('frames', _ON_FRAMES),
    ],
)
def test_every_method_runs(request, kind, names):
  _check_methods(request.getfixturevalue(kind).streamed, names)


# Each method on one kind of data: what takes long is to compile them.
_SOME = {
    'finite': ['tabular_srdice', 'tabular_dual_dice', 'dual_dice'],
    'vectors': ['srdice', 'srdice_closed', 'deep_sr', 'srdice_lstd', 'dr'],
    'frames': ['deep_td', 'gradient_dice'],
}


@pytest.mark.parametrize('kind', _SOME)
def test_each_method_runs(request, kind):
  _check_methods(request.getfixturevalue(kind).streamed, _SOME[kind])


def test_closed_forms_are_those_of_data_in_memory(finite):
  names = 'tabular_srdice', 'tabular_dual_dice', 'linear_srdice'
  kept, stream = (
      _fitted(problem, *names) for problem in (finite.kept, finite.streamed)
  )
  for name in names:
    for find in (lambda m: m.estimate(), lambda m: m.ratios()):
      np.testing.assert_allclose(find(stream[name]), find(kept[name]), 1e-9)
    residuals = [m[name].flow_residual().residual for m in (stream, kept)]
    assert residuals[0] == pytest.approx(residuals[1], rel=1e-4)
    assert stream[name].interval() == pytest.approx(kept[name].interval())


def test_closed_form_over_the_same_features(vectors):
  """Untrained phi and psi are the same, and so is all that follows."""
  steps = dict(encoder_steps=0, successor_steps=0, updates=0)
  names = 'srdice', 'srdice_closed', 'deep_sr'
  kept, stream = (
      _fitted(problem, *names, **steps)
      for problem in (vectors.kept, vectors.streamed)
  )
  for methods in (kept, stream):
    methods['srdice']._prepare()
  for name in names:
    found, expected = (float(m[name].estimate()) for m in (stream, kept))
    assert found == pytest.approx(expected, rel=1e-5), name
  for name in names[:2]:
    np.testing.assert_allclose(
        stream[name].ratios(), kept[name].ratios(), rtol=1e-5
    )
  assert stream['srdice'].details() == pytest.approx(
      kept['srdice'].details(), rel=1e-5, abs=1e-9
  )


def test_mass_of_the_closed_form(vectors):
  values = dict(
      encoder_steps=0, successor_steps=0, updates=0, closed_mass='flow'
  )
  found, expected = (
      _fitted(problem, 'srdice_closed', **values)['srdice_closed'].ratios()
      for problem in (vectors.streamed, vectors.kept)
  )
  np.testing.assert_allclose(found, expected, rtol=1e-5)
  with pytest.raises(errors.UserError, match='are streamed'):
    _fitted(
        vectors.streamed, 'srdice_closed', **values, closed_select='flow'
    )


def test_parts_of_episodes(vectors):
  episodes = np.array([0, 3, 4, 11])
  found = vectors.streamed.of_episodes(episodes)
  expected = vectors.kept.of_episodes(episodes)
  pairs = lambda inputs: tf.identity(inputs)
  np.testing.assert_array_equal(
      found.over_data(pairs)(), expected.over_data(pairs)()
  )
  for name in ('rewards', 'episodes', 'steps'):
    np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
  index = tf.range(4)
  np.testing.assert_array_equal(
      found.start_states(index), expected.start_states(index)
  )


def test_episodes_of_minibatches(vectors):
  """Also of some episodes, which have other numbers then."""
  episodes = np.array([0, 3, 4, 11])
  pairs = (vectors.streamed, vectors.kept), tuple(
      problem.of_episodes(episodes)
      for problem in (vectors.streamed, vectors.kept)
  )
  rng = tf.random.Generator.from_seed(0)
  for streamed_problem, kept in pairs:
    batch = streamed_problem.sample(64, rng)
    known = dict(zip(kept.rewards.numpy(), kept.episodes.numpy(), strict=True))
    expected = [known[reward] for reward in batch.rewards.numpy()]
    found = streamed_problem.episodes_at(batch.index)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.full
def test_doubly_robust_by_folds(vectors, monkeypatch):
  monkeypatch.setattr(flow, 'MOST_TRANSITIONS', 20)  # Of which flow is scored.
  method = _fitted(
      vectors.streamed, 'dr', dr_folds=2, lstd_ridge=1e-3, value_members=2,
      value_member_units=8,
  )['dr']
  assert np.isfinite(method.estimate())
  assert method.flow_residual().residual > 0.0 and method.flow_noise() > 0.0


def test_thinned_data_are_in_memory(case):
  (found, every), (expected, _) = (
      problem.thinned(30) for problem in (case.streamed, case.kept)
  )
  assert every == -(-case.kept.size // 30)
  assert not found.is_streamed
  index = tf.range(expected.size)
  for name in ('states', 'next_states'):
    np.testing.assert_array_equal(
        getattr(found, name)(index), getattr(expected, name)(index)
    )
  np.testing.assert_array_equal(found.rewards, expected.rewards)
