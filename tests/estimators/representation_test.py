"""Tests for what the encoder-decoder learns of the reward."""

import dataclasses

import numpy as np
import pytest

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
