"""Tests for evaluation as a library call."""

import numpy as np
import pytest
from tf_agents.specs import array_spec

import srdice_tf
from srdice_tf import errors
from srdice_tf.policies import composed
from tests import finite

_VALUES = dict(
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
      policy,
      chain.dataset,
      ('srdice', 'deep_td'),
      finite.GAMMA,
      hyperparameters=_VALUES,
      progress=False,
  )


def test_value_ratios_and_what_they_are_worth(chain, evaluation):
  found = evaluation['srdice']
  assert found.value == pytest.approx(chain.value, rel=0.15)
  np.testing.assert_allclose(
      found.ratios, chain.ratio[chain.pairs], atol=0.2 * chain.ratio.max()
  )
  assert found.diagnostics.mean == pytest.approx(found.ratios.mean())
  # Nothing terminates on the chain: the mass is known without a truth.
  assert found.diagnostics.expected_mean == 1.0
  low, high = found.interval
  assert low < found.value < high
  assert found.flow_residual > 0.0 and found.flow_scored_on == 'fitted'
  assert found.curve.steps[-1] == _VALUES['updates']
  assert evaluation['deep_td'].ratios is None
  assert evaluation.truth is None
  assert evaluation.num_transitions == chain.problem.size


def test_seconds_are_told_phase_by_phase(evaluation):
  srdice, deep_td = evaluation['srdice'], evaluation['deep_td']
  assert list(srdice.phase_seconds) == ['encoder', 'successor', 'srdice']
  assert all(seconds > 0.0 for seconds in srdice.phase_seconds.values())
  assert srdice.seconds == sum(srdice.phase_seconds.values())
  assert deep_td.phase_seconds == {'deep_td': deep_td.seconds}


def test_episodes_are_data(chain, policy):
  episode = srdice_tf.Episode(
      observations=np.array([0, 1, 2, 1]),
      actions=np.array([1, 1, 0]),
      rewards=np.array([0.0, 0.0, 1.0]),
      is_terminal=False,
  )
  short = {'linear_ridge': 1e-3, 'bootstrap_draws': 0}
  found = srdice_tf.evaluate(
      policy,
      [episode, episode],
      'linear_srdice',
      hyperparameters=short,
      progress=False,
  )
  assert (found.num_transitions, found.num_episodes) == (6, 2)
  assert np.isfinite(found['linear_srdice'].value)


def test_the_progress_line_can_be_turned_off(chain, policy, capfd):
  for progress in (True, False):
    capfd.readouterr()
    srdice_tf.evaluate(
        policy, chain.dataset, 'tabular_srdice', 0.9, progress=progress
    )
    assert ('train' in capfd.readouterr().err) == progress


def test_saved_and_loaded_without_training(chain, policy, evaluation, tmp_path):
  found = evaluation['srdice']
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  np.testing.assert_array_equal(loaded.ratios, found.ratios)
  assert loaded.value == found.value
  rewards = np.arange(chain.problem.size, dtype=np.float32)
  assert float(loaded.estimator.value_of(rewards)) == pytest.approx(
      float(np.mean(found.ratios * rewards)), rel=1e-5
  )


@pytest.mark.parametrize('algo', ['deep_sr', 'deep_td'])
def test_the_seed_is_saved_too(chain, policy, algo, tmp_path):
  """Values at start states are those of the seed's start pairs."""
  short = _VALUES | dict(encoder_steps=2, successor_steps=2, updates=2)
  found = srdice_tf.evaluate(
      policy,
      chain.dataset,
      algo,
      finite.GAMMA,
      hyperparameters=short,
      seed=3,
      progress=False,
  )[algo]
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  assert loaded.value == found.value


def test_bad_arguments(chain, policy, tmp_path):
  with pytest.raises(errors.UserError, match='gamma'):
    srdice_tf.evaluate(
        policy, chain.dataset, gamma=1.0, hyperparameters=_VALUES
    )
  with pytest.raises(errors.UserError, match='algos=none'):
    srdice_tf.evaluate(policy, chain.dataset, 'none', hyperparameters=_VALUES)
  with pytest.raises(errors.UserError, match='no estimator that fits'):
    srdice_tf.load(str(tmp_path), policy, chain.dataset)


def test_policy_of_another_environment(chain):
  observation = array_spec.ArraySpec((3,), np.float32)
  other = composed.UniformPolicy(observation, chain.specs[1])
  with pytest.raises(errors.UserError, match=r'observations.*\[3\].*\[\]'):
    srdice_tf.evaluate(other, chain.dataset, hyperparameters=_VALUES)
