"""Tests for files of a policy's actions at s' and s0."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.estimators import problems
from srdice_tf.experiments import tasks
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import actions
from srdice_tf.policies import loading
from srdice_tf.policies import settings

_VECTORS = array_spec.ArraySpec((1,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((1,), np.float32, -90.0, 90.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 3)
_LENGTHS = 3, 1, 4, 2, 5
_SIZE, _EPISODES = sum(_LENGTHS), len(_LENGTHS)


def _dataset(is_discrete=False):
  """States count from 0 on: s' tells the transition, s0 the episode."""
  episodes, first = [], 0
  for length in _LENGTHS:
    states = np.arange(first, first + length + 1, dtype=np.float32)[:, None]
    taken = np.zeros(length, np.int64) if is_discrete else states[1:] * 0.0
    episodes.append(data.Episode(states, taken, np.ones(length), True))
    first += length + 1
  return data.Dataset.from_episodes(episodes)


def _policy_at(states):
  """The policy that a file is made of."""
  return -states


def _save(path, dataset=None, **changes):
  dataset = _dataset() if dataset is None else dataset
  starts = dataset.initial_states(tf.range(_EPISODES))
  arrays = {
      'next_actions': _policy_at(dataset.next_states(tf.range(_SIZE))),
      'initial_actions': _policy_at(starts),
      **changes,
  }
  there = {k: np.asarray(v) for k, v in arrays.items() if v is not None}
  np.savez(path, **there)
  return path


def _load(path, action_spec=_TORQUES, **options):
  return loading.load(str(path), '', _VECTORS, action_spec, **options)


def _problem(policy, dataset, cache=True):
  specs = policy.time_step_spec.observation, policy.action_spec
  return problems.Problem(
      dataset,
      actions.target_actions(settings.target_policy(policy, 0.0)),
      vector_inputs.VectorInputs(*specs),
      0.9,
      cache,
  )


def test_actions_at_the_states_themselves(tmp_path):
  """Known from the start, or from the step before, in parts as well."""
  target = actions.target_actions(_load(_save(tmp_path / 'a.npz')))
  whole = _dataset()
  for dataset in (whole, whole.of_episodes(np.array([1, 2])).thinned(2)):
    index = tf.range(dataset.num_transitions)
    np.testing.assert_array_equal(
        target.state_parameters(dataset, index),
        _policy_at(dataset.states(index)),
    )


@pytest.mark.parametrize('cache', [True, False])
def test_actions_follow_the_data(tmp_path, cache):
  """In the whole, in a part of the episodes, thinned, and both."""
  policy = _load(_save(tmp_path / 'a.npz'))
  whole = _dataset()
  part = whole.of_episodes(np.array([0, 2, 4]))
  rng = tf.random.Generator.from_seed(0)
  for dataset in (whole, part, whole.thinned(2), part.thinned(3)):
    problem = _problem(policy, dataset, cache)
    rows = tf.range(problem.size)
    next_states = problem.next_states(rows)
    found = problem.next_parameters(rows)
    np.testing.assert_array_equal(found, _policy_at(next_states))
    starts = tf.range(problem.num_starts)
    np.testing.assert_array_equal(
        problem.start_parameters(starts),
        _policy_at(problem.start_states(starts)),
    )
    batch = problem.sample(32, rng)
    np.testing.assert_array_equal(
        batch.next_inputs[:, 1:], _policy_at(batch.next_inputs[:, :1])
    )
  thin, every = _problem(policy, whole).thinned(4)
  assert every == 4
  index = tf.range(thin.size)
  np.testing.assert_array_equal(
      thin.next_parameters(index), _policy_at(thin.next_states(index))
  )


def test_discrete_actions_and_probabilities(tmp_path):
  dataset = _dataset(is_discrete=True)
  rng = np.random.default_rng(0)
  whole = {
      'next_actions': rng.integers(4, size=_SIZE),
      'initial_actions': rng.integers(4, size=_EPISODES),
  }
  shares = {k: rng.dirichlet(np.ones(4), len(v)) for k, v in whole.items()}
  for arrays, expected in (
      (whole, {k: np.eye(4)[v] for k, v in whole.items()}),
      (shares, shares),
  ):
    policy = _load(_save(tmp_path / 'a.npz', **arrays), _CHOICES)
    problem = _problem(policy, dataset)
    assert problem.actions.parameters_are_probabilities
    np.testing.assert_allclose(
        problem.next_parameters(tf.range(_SIZE)),
        expected['next_actions'],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        problem.start_parameters(tf.range(_EPISODES)),
        expected['initial_actions'],
        rtol=1e-6,
    )
  fewer = array_spec.BoundedArraySpec((), np.int64, 0, 1)
  with pytest.raises(errors.UserError, match="are 4, the data's are 2"):
    _load(tmp_path / 'a.npz', fewer)
  policy = _load(tmp_path / 'a.npz', fewer, bounds_known=False)
  assert policy.action_spec.maximum == 3
  _save(tmp_path / 'a.npz', **whole)
  with pytest.raises(errors.UserError, match='has the action . in row'):
    _load(tmp_path / 'a.npz', fewer)


def test_rows_that_are_not_those_of_the_data(tmp_path):
  for name, array, message in (
      ('next_actions', np.zeros((7, 1), 'f4'), '7 rows, the data have 15 tr'),
      ('initial_actions', np.zeros((7, 1), 'f4'), '7 rows, the data have 5 ep'),
  ):
    policy = _load(_save(tmp_path / 'a.npz', **{name: array}))
    with pytest.raises(
        errors.UserError, match=f'a.npz: {name} has {message}'
    ):
      _problem(policy, _dataset())


@pytest.mark.parametrize(
    'action_spec, changes, message',
    [
        (_TORQUES, {'initial_actions': None}, 'there is no array initial_act'),
        (_TORQUES, {'next_actions': np.zeros(15, 'f4')}, r'float32\[15\]; exp'),
        (_TORQUES, {'next_actions': np.zeros((15, 2))}, r'float64\[15, 2\]; e'),
        (_TORQUES, {'next_actions': np.zeros((15, 1), int)}, 'is int64'),
        (_TORQUES, {'next_actions': np.full((15, 1), np.nan)}, '15 values'),
        (_TORQUES, {'next_actions': np.array(['a'])}, 'expected real numbers'),
        (_CHOICES, {}, 'expected probabilities of 4|are 1, the data'),
        (
            _CHOICES,
            {
                'next_actions': np.full((15, 4), 0.3),
                'initial_actions': np.full((5, 4), 0.25),
            },
            'row 0 of next_actions is .*, which sums to 1.2; expected prob',
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path, action_spec, changes, message):
  path = _save(tmp_path / 'a.npz', **changes)
  with pytest.raises(errors.UserError, match=f'a.npz: .*{message}') as error:
    _load(path, action_spec)
  assert '\n' not in str(error.value)


def test_damaged_files_are_one_line(tmp_path):
  path = _save(tmp_path / 'a.npz')
  whole = path.read_bytes()
  inside = whole.index(b'NUMPY') + 30
  flipped = whole[:inside] + b'?' + whole[inside + 1 :]
  for content in (b'', whole[: len(whole) // 2], flipped):
    path.write_bytes(content)
    with pytest.raises(errors.UserError, match='a.npz: cannot be read'):
      _load(path)


def test_elsewhere_the_policy_is_not_known(tmp_path):
  policy = _load(_save(tmp_path / 'a.npz'))
  view = actions.target_actions(policy)
  match = "policy=.*a.npz: the file has the policy's actions at s' and s0 of"
  with pytest.raises(errors.UserError, match=match):
    view.parameters(tf.zeros([2, 1]))
  with pytest.raises(errors.UserError, match=match):
    policy.action(ts.restart(tf.zeros([2, 1]), 2))


def test_checksums_are_of_the_file(tmp_path):
  one = _load(_save(tmp_path / 'a.npz'))
  other = _load(
      _save(tmp_path / 'b.npz', initial_actions=np.ones((_EPISODES, 1)))
  )
  assert loading.checksum(one) != loading.checksum(other)
  problem = tasks.make_problem(
      one, _dataset(), (one.time_step_spec.observation, one.action_spec), 0.9
  )
  assert problem.size == _SIZE
