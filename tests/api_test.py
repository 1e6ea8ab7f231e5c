"""Tests for evaluation as a library call."""


import numpy as np
import pytest
from tf_agents.specs import array_spec

import srdice_tf
from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.policies import composed
from tests import finite

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=1500,
    successor_steps=3000,
    updates=8000,
    num_features=64,
    hidden_units=64,
    batch_size=64,
    ratio_batch_size=128,
    learning_rate=3e-3,
    tau=0.05,
    start_pool=128,
)


@pytest.fixture(scope='module')
def chain():
  return finite.chain()


@pytest.fixture(scope='module')
def policy(chain):
  return composed.UniformPolicy(*chain.specs)


@pytest.fixture(scope='module')
def evaluation(chain, policy):
  return srdice_tf.evaluate(
      policy, chain.dataset, 'srdice', finite.GAMMA, _CONFIG
  )


def test_value_and_ratios(chain, evaluation):
  assert evaluation.value == pytest.approx(chain.value, rel=0.15)
  np.testing.assert_allclose(
      evaluation.ratios,
      chain.ratio[chain.pairs],
      atol=0.2 * chain.ratio.max(),
  )


def test_saved_and_loaded_without_training(chain, policy, evaluation, tmp_path):
  srdice_tf.save(evaluation.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  np.testing.assert_array_equal(loaded.ratios, evaluation.ratios)
  assert loaded.value == evaluation.value
  rewards = np.arange(chain.problem.size, dtype=np.float32)
  assert float(loaded.estimator.value_of(rewards)) == pytest.approx(
      float(np.mean(evaluation.ratios * rewards)), rel=1e-5
  )


@pytest.mark.parametrize('algo', ['deep_sr', 'deep_td'])
def test_the_seed_is_saved_too(chain, policy, algo, tmp_path):
  """Values at start states are those of the seed's start pairs."""
  short = _CONFIG.replace(encoder_steps=2, successor_steps=2, updates=2
  )
  found = srdice_tf.evaluate(
      policy, chain.dataset, algo, finite.GAMMA, short, seed=3
  )
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  assert loaded.value == found.value


def test_bad_arguments(chain, policy, tmp_path):
  with pytest.raises(errors.UserError, match='gamma'):
    srdice_tf.evaluate(policy, chain.dataset, gamma=1.0, config=_CONFIG)
  with pytest.raises(errors.UserError, match='--algo=none'):
    srdice_tf.evaluate(policy, chain.dataset, 'none', config=_CONFIG)
  with pytest.raises(errors.UserError, match='no estimator that fits'):
    srdice_tf.load(str(tmp_path), policy, chain.dataset)


def test_policy_of_another_environment(chain):
  observation = array_spec.ArraySpec((3,), np.float32)
  other = composed.UniformPolicy(observation, chain.specs[1])
  with pytest.raises(errors.UserError, match=r'observations.*\[3\].*\[\]'):
    srdice_tf.evaluate(other, chain.dataset, config=_CONFIG)
