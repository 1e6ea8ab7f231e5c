"""Tests that library calls refuse in one line what they cannot use."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import epsilon_greedy_policy
from tf_agents.policies import q_policy
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

import srdice_tf
from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.environments import finite_mdps
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import probability_tables
from tests import finite
from tests import walk

_VALUES = dict(
    encoder_steps=2,
    successor_steps=2,
    updates=2,
    num_features=8,
    batch_size=8,
    ratio_batch_size=8,
    start_pool=8,
    linear_num_features=8,
    bootstrap_draws=10,
)


@pytest.fixture(scope='module')
def chain():
  return finite.chain()


@pytest.fixture(scope='module')
def policy(chain):
  return composed.UniformPolicy(*chain.specs)


def _error(*args, **fields) -> str:
  fields = {'hyperparameters': _VALUES, **fields}
  with pytest.raises(errors.UserError) as error:
    srdice_tf.evaluate(*args, **fields)
  assert '\n' not in str(error.value)
  return str(error.value)


def _value(policy, dataset, algo) -> float:
  found = srdice_tf.evaluate(
      policy, dataset, algo, 0.9, hyperparameters=_VALUES, progress=False
  )
  return found[algo].value


def test_arguments_of_wrong_types(chain, policy):
  data = chain.dataset
  for fields, message in (
      ({'gamma': 'high'}, 'gamma=high: expected a number'),
      ({'gamma': None}, 'gamma=None'),
      ({'gamma': float('nan')}, 'gamma=nan'),
      ({'gamma': 1.0}, 'gamma=1.0'),
      ({'gamma': -0.5}, 'gamma=-0.5'),
      ({'seed': -1}, 'seed=-1'),
      ({'seed': 0.5}, 'seed=0.5'),
      ({'seed': '0'}, 'seed=0: expected a whole number'),
      ({'algos': 'none'}, 'algos=none: no such estimator'),
      ({'algos': 'srdce'}, 'no such estimator; did you mean srdice'),
      ({'algos': None}, 'algos: found NoneType; expected'),
      ({'algos': [3]}, 'algos: found list; expected'),
      ({'algos': []}, 'algos=: expected at least one'),
      ({'preset': 'x'}, 'preset=x: '),
      ({'hyperparameters': {'no': 3}}, 'no=3: there is no such'),
      ({'hyperparameters': {'tau': 7.0}}, 'tau=7.0: expected'),
      ({'hyperparameters': 'paper'}, 'hyperparameters: found str'),
      ({'hyperparameters': {1: 3}}, 'expected values by name'),
      ({'mdp': 'chain'}, 'mdp: found str; expected a finite.FiniteMDP'),
      ({'mdp': finite_mdps.grid_walk()}, 'mdp: it has 100 states and 4 act'),
  ):
    assert message in _error(policy, data, **fields)
  assert 'episode 0' in _error(policy, [1, 2])
  assert 'data: found NoneType' in _error(policy, None)
  assert 'policies are shipped for env' in _error('pretrained', data)
  assert 'policy: found int; expected' in _error(3, data)
  assert 'policy: found the class' in _error(composed.UniformPolicy, data)
  with pytest.raises(errors.UserError, match='estimator: found str'):
    srdice_tf.save('srdice', 'nowhere')
  with pytest.raises(errors.UserError, match='name: found int; expected the'):
    srdice_tf.load_policy(3, 'GridWalk')
  with pytest.raises(errors.UserError, match='policy=/no/model: no such file'):
    srdice_tf.load_policy(pathlib.Path('/no/model'), 'GridWalk')


def _arrays(**fields) -> dict:
  """An episode of three states and one of two."""
  return {
      'rows': np.array([0, 1, 2, 0, 1]),
      'step_types': np.array([0, 1, 1, 0, 1]),
      'actions': np.array([0, 1, 0, 0, 1]),
      'rewards': np.array([0.0, 1.0, 2.0, 0.0, 1.0]),
      'not_done': np.ones(5),
      **fields,
  }


def test_types_of_arrays_are_converted():
  """float64 rows, as numpy makes them, are what users bring."""
  whole = walk.dataset(0)
  index = tf.range(whole.num_transitions)
  narrow = [
      datasets.Dataset.from_rows(
          rows=np.tile(np.linspace(0, 1, 5)[:, None], [1, 2]).astype(dtype),
          **{
              name: array
              for name, array in _arrays(
                  actions=np.zeros((5, 1), dtype)
              ).items()
              if name != 'rows'
          },
      )
      for dtype in (np.float64, np.float32)
  ]
  assert narrow[0].actions.dtype == whole.actions.dtype == tf.float32
  assert narrow[0].states([0]).dtype == whole.states(index).dtype
  values = [
      _value(walk.policy(), dataset, 'linear_srdice')
      for dataset in narrow
  ]
  assert values[0] == values[1]
  numbered = datasets.Dataset.from_rows(
      **_arrays(rows=np.arange(5, dtype=np.int16), actions=np.ones(5, np.int8))
  )
  assert numbered.actions.dtype == numbered.states([0]).dtype == tf.int64


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'rows': [0, 1, 5, 0, 1]}, 'states has the value 5.*from 0 to 4'),
        ({'rows': [0, 1, -1, 0, 1]}, 'states has the value -1'),
        ({'rows': [0, 1, 2, 9, 1]}, 'states has the value 9'),
        ({'actions': [0, 1, 2, 0, 1]}, 'actions has the value 2.*from 0 to 1'),
        ({'actions': [0, -1, 1, 0, 1]}, 'actions has the value -1'),
        ({'rows': np.zeros(5)}, r'int64\[\], the data .*float32\[\]'),
        ({'actions': np.zeros(5)}, r'int64\[\], the data .*float32\[\]'),
        ({'rewards': [0, np.nan, 0, 0, 0]}, 'rewards are NaN'),
        ({'rewards': [0, 1e300, 0, 0, 0]}, 'rewards are NaN or infinite'),
    ],
)
def test_data_out_of_range(policy, fields, message):
  dataset = datasets.Dataset.from_rows(**_arrays(**fields))
  with pytest.raises(errors.UserError, match=message):
    srdice_tf.evaluate(policy, dataset, 'deep_td', hyperparameters=_VALUES)


class _Policy(tf_policy.TFPolicy):
  """Acts by a function of the observation; not clipped."""

  def __init__(self, observation_spec, action_spec, function, **fields):
    time_step_spec = ts.time_step_spec(observation_spec)
    super().__init__(time_step_spec, action_spec, clip=False, **fields)
    self._function = function

  def _action(self, time_step, policy_state, seed=None):
    action = self._function(time_step.observation)
    return policy_step.PolicyStep(action, policy_state)


_STATES = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 4)
_CHOICES = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 1)
_TORQUES = tensor_spec.BoundedTensorSpec([1], tf.float32, -1.0, 1.0)
_PLANE = tf.TensorSpec([2], tf.float32)


def _fail(observation):
  raise ZeroDivisionError('no policy')


@pytest.mark.parametrize(
    'policy, message',
    [
        (
            _Policy({'place': _STATES}, _CHOICES, lambda x: x['place']),
            'observations are a structure of 1; expected one tensor',
        ),
        (
            _Policy(_STATES, [_CHOICES, _CHOICES], lambda x: [x, x]),
            'actions are a structure of 2; expected one tensor',
        ),
        (
            _Policy(_STATES, _CHOICES, lambda x: 0, policy_state_spec=_PLANE),
            'policy: it keeps a state',
        ),
        (
            _Policy(
                _STATES,
                tensor_spec.BoundedTensorSpec([], tf.int64, 1, 2),
                lambda x: x * 0 + 1,
            ),
            'actions are int64.. from 1 to 2; expected .*from 0 to a bound',
        ),
        (
            _Policy(tf.TensorSpec([], tf.int64), _CHOICES, lambda x: x * 0),
            'observations are int64..; expected',
        ),
        (_Policy(_STATES, _CHOICES, _fail), 'ZeroDivisionError: no policy'),
        (
            _Policy(_STATES, _CHOICES, lambda x: x),
            'gave the action 2; expected from 0 to 1',
        ),
    ],
)
def test_policies_that_cannot_be_evaluated(chain, policy, message):
  with pytest.raises(errors.UserError, match=message):
    _value(policy, chain.dataset, 'deep_td')


def test_policies_of_vectors_that_cannot_be_evaluated():
  data = walk.dataset(0)
  nan = _Policy(_PLANE, _TORQUES, lambda x: x[:, :1] * float('nan'))
  assert 'policy _Policy: gave the action [nan] in' in _error(nan, data)
  noisy = composed.GaussianNoise(nan, 0.1)
  assert 'policy _Policy: gave the action [nan] in' in _error(noisy, data)
  double = _Policy(tf.TensorSpec([2], tf.float64), _TORQUES, lambda x: x[:, :1])
  assert 'float64[2]; expected float32' in _error(double, data)
  other = _Policy(tf.TensorSpec([3], tf.float32), _TORQUES, lambda x: x[:, :1])
  assert "float32[3], the data set's float32[2]" in _error(other, data)
  draws = _Policy(_PLANE, _TORQUES, lambda x: x[:, :1] * tf.random.normal([]))
  assert 'policy: it draws its actions but offers no' in _error(draws, data)


def test_stochastic_policies_of_tf_agents(chain):
  """Their distribution is used; the same seed gives the same numbers."""
  network = base.q_network(*chain.specs, seed=2)
  drawn = q_policy.QPolicy(*composed.tensor_specs(*chain.specs), network)
  step = ts.restart(tf.range(5, dtype=tf.int64), 5)
  table = drawn.distribution(step).action.probs_parameter().numpy()
  table = table.astype(np.float64)
  exact = probability_tables.TabularPolicy(
      *chain.specs, table / table.sum(1, keepdims=True)
  )
  values = [
      _value(policy, chain.dataset, 'tabular_srdice')
      for policy in (drawn, drawn, exact)
  ]
  assert values[0] == values[1] == pytest.approx(values[2], rel=1e-6)
  explores = epsilon_greedy_policy.EpsilonGreedyPolicy(drawn, 0.1)
  assert 'offers no distribution' in _error(explores, chain.dataset)


def test_states_of_other_types_are_converted(chain):
  """Many policies count in int32."""
  narrow = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 4)
  right = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1)
  policy = _Policy(narrow, right, lambda x: x * 0 + 1)
  table = probability_tables.TabularPolicy(*chain.specs, [[0.0, 1.0]] * 5)
  values = [
      _value(p, chain.dataset, 'tabular_srdice')
      for p in (policy, table)
  ]
  assert values[0] == pytest.approx(values[1], rel=1e-6)


def _saved(chain, policy, algo, path):
  found = srdice_tf.evaluate(
      policy, chain.dataset, algo, 0.9, hyperparameters=_VALUES, progress=False
  )[algo]
  srdice_tf.save(found.estimator, str(path))
  return found


@pytest.mark.parametrize(
    'algo', ['deep_td', 'dual_dice', 'linear_srdice', 'tabular_srdice']
)
def test_estimators_come_back(chain, policy, algo, tmp_path):
  found = _saved(chain, policy, algo, tmp_path)
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  assert loaded.value == pytest.approx(found.value, rel=1e-6)


def test_damaged_estimators_are_one_line(chain, policy, tmp_path):
  whole = tmp_path / 'whole'
  _saved(chain, policy, 'deep_td', whole)
  settings = json.loads((whole / 'estimator.json').read_text())

  def edited(**fields):
    return json.dumps({**settings, **fields}).encode()

  data = 'weights.data-00000-of-00001'
  for i, (name, damage) in enumerate((
      ('estimator.json', lambda content: b''),
      ('estimator.json', lambda content: b'garbage'),
      ('estimator.json', lambda content: b'[]'),
      ('estimator.json', lambda content: content[:40]),
      ('estimator.json', lambda _: edited(gamma='x')),
      ('estimator.json', lambda _: edited(hyperparameters={'no': 1})),
      ('estimator.json', lambda _: edited(hyperparameters={'tau': 7.0})),
      ('estimator.json', lambda _: edited(algo='dual_dice')),
      ('weights.index', lambda content: b''),
      ('weights.index', lambda content: content[:70]),
      (data, lambda content: content[:500]),
      (data, lambda content: content[:500] + b'flipped' + content[507:]),
  )):
    path = tmp_path / str(i)
    shutil.copytree(whole, path)
    content = (path / name).read_bytes()
    (path / name).write_bytes(damage(content))
    with pytest.raises(errors.UserError, match=f'{path}.*no estimator') as e:
      srdice_tf.load(str(path), policy, chain.dataset)
    assert '\n' not in str(e.value)
