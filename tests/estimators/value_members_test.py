"""Tests for several Q networks that are trained at once."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from srdice_tf.estimators import value_function
from srdice_tf.estimators import value_members
from srdice_tf.networks import stacked
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    updates=40,
    hidden_units=8,
    value_member_units=6,
    batch_size=32,
    start_pool=64,
    learning_rate=3e-3,
)


@pytest.fixture(scope='module')
def problem():
  return walk.problem(walk.dataset(seed=0, num_episodes=6))


def _fit(problem, **changes):
  made = registry.make_estimators(
      ['deep_td'], problem, _CONFIG.replace(**changes), seed=0
  )
  training.PhaseTrainer(made).run()
  return made['deep_td']


@pytest.fixture(scope='module')
def fitted(problem):
  return _fit(problem, value_members=3)


def _pairs(problem):
  return problem.state_actions(tf.range(problem.size))


def test_the_first_is_as_it_is_alone(problem, fitted):
  alone = _fit(problem)
  assert float(alone.estimate()) == float(fitted.estimate())
  pairs = _pairs(problem)
  q = alone._value_function
  np.testing.assert_array_equal(q(pairs), fitted._value_function(pairs))
  np.testing.assert_array_equal(q.of_members(pairs), q(pairs))


def test_members_differ_and_learn(problem, fitted):
  pairs = _pairs(problem)
  found = fitted._value_function.of_members(pairs).numpy()  # [n, K]
  assert found.shape == (problem.size, 3)
  np.testing.assert_array_equal(found[:, :1], fitted._value_function(pairs))
  assert np.abs(np.diff(found)).mean() > 1e-3
  before = _fit(problem, value_members=3, updates=0)._value_function
  assert (found != before.of_members(pairs).numpy()).all(axis=1).any()


def test_a_stack_computes_what_each_network_computes():
  rng = np.random.default_rng(0)
  network = stacked.StackedMLP(2, 3, [4, 5], 1, rng, tf.nn.relu)
  inputs = rng.normal(size=(7, 3)).astype(np.float32)
  found = network(inputs).numpy()  # [2, 7, 1]
  for member in range(2):
    outputs = inputs
    for i, (kernel, bias) in enumerate(zip(network._kernels, network._biases)):
      outputs = np.maximum(outputs, 0.0) if i else outputs
      outputs = outputs @ kernel[member].numpy() + bias[member].numpy()
    np.testing.assert_allclose(found[member], outputs, rtol=1e-5, atol=1e-6)


def test_a_member_knows_only_its_episodes(problem):
  """Rewards of episodes that it did not draw change nothing."""
  config = _CONFIG.replace(value_members=2)
  make = lambda: registry.make_estimators(['deep_td'], problem, config, seed=0)
  q = make()['deep_td']._value_function
  drawn = q._others._drawn.numpy()[:, 0]  # [E]
  assert drawn.sum() == 6 and (drawn == 0).any()
  is_unseen = drawn[problem.episodes.numpy()] == 0  # [n]
  batch = problem.sample(64, tf.random.Generator.from_seed(0))
  changed = batch._replace(
      rewards=tf.where(tf.gather(is_unseen, batch.index), 9.0, batch.rewards)
  )
  assert (changed.rewards != batch.rewards).numpy().any()
  found = []
  for each in (batch, changed):
    q = make()['deep_td']._value_function
    q._others.step(each)
    found.append(q._others(_pairs(problem)).numpy())
  np.testing.assert_array_equal(*found)


def test_frames_take_one():
  class Frames:
    has_vectors = False

  config = _CONFIG.replace(value_members=2)
  with pytest.raises(errors.UserError, match='value_members=2.*frames'):
    value_members.ValueMembers(
        Frames(), config.of(value_function.ValueFunctionConfig), 1, seed=0
    )
