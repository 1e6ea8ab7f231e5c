"""Tests for what phi learns of the reward, and for psi as phi plus a rest."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import walk

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=60,
    successor_steps=1,
    num_features=8,
    hidden_units=8,
    batch_size=32,
    start_pool=64,
    learning_rate=3e-3,
    reward_weight=10.0,
    bootstrap_draws=0,
)


def _phi(scale: float, shift: float, **changes):
  """Returns phi [n, F] after training with other units of the reward."""
  data = walk.dataset(seed=0, num_episodes=6)
  data = dataclasses.replace(data, rewards=scale * data.rewards + shift)
  made = registry.make_estimators(
      ['srdice_closed'],
      walk.problem(data),
      _CONFIG.replace(**changes),
      seed=0,
  )
  training.PhaseTrainer(made).run()
  return made['srdice_closed']._representation.features.numpy()


@pytest.mark.parametrize('is_standardised', [False, True])
def test_standardised_rewards_have_no_unit(is_standardised):
  found = _phi(1.0, 0.0, standardise_rewards=is_standardised)
  other = _phi(100.0, 7.0, standardise_rewards=is_standardised)
  is_same = np.allclose(found, other, rtol=1e-2, atol=1e-3)
  assert is_same == is_standardised


def test_a_constant_reward_is_no_division_by_zero():
  assert np.isfinite(_phi(0.0, 5.0, standardise_rewards=True)).all()


def _walk(**changes):
  made = registry.make_estimators(
      ['srdice_closed', 'srdice_lstd'],
      walk.problem(walk.dataset(seed=0, num_episodes=6)),
      _CONFIG.replace(**changes),
      seed=0,
  )
  return made['srdice_closed']._representation, made['srdice_lstd']


def test_psi_is_phi_plus_what_follows():
  """Before training the network's part alone differs from psi by phi."""
  representation, _ = _walk(successor_residual=True)
  pairs = representation.problem.state_actions(tf.range(20))
  plain, _ = _walk()
  np.testing.assert_allclose(
      representation.successor(pairs) - plain.successor(pairs),
      plain.encode(pairs),
      atol=1e-6,
  )


def test_what_is_learned_is_the_discounted_psi_of_what_follows():
  """By hand: the loss of the first minibatch."""
  representation, _ = _walk(successor_residual=True)
  representation.prepare()
  problem = representation.problem
  batch = problem.sample(200, tf.random.Generator.from_seed(0))
  problem.sample = lambda *_: batch
  weights = representation._successor.get_weights()
  network = lambda inputs: np.maximum(
      np.maximum(inputs @ weights[0] + weights[1], 0.0) @ weights[2]
      + weights[3],
      0.0,
  ) @ weights[4] + weights[5]
  after = network(batch.next_inputs.numpy())
  after += representation.encode(batch.next_inputs).numpy()
  not_done = batch.not_done.numpy()[:, None]
  expected = network(batch.inputs.numpy()) - problem.gamma * not_done * after
  loss = representation._successor_step()['loss']
  assert float(loss) == pytest.approx(np.mean(expected**2), rel=1e-4)


def test_psi_is_linear_in_the_features_of_lstd():
  representation, lstd = _walk(successor_residual=True)
  pairs = representation.problem.state_actions(tf.range(60))
  features = lstd.features(pairs).numpy()  # [60, 17]
  assert features.shape[1] == lstd.features.num_features == 8 + 8 + 1
  psi = representation.successor(pairs).numpy()
  fit, *_ = np.linalg.lstsq(features, psi, rcond=None)
  np.testing.assert_allclose(features @ fit, psi, atol=1e-4)
