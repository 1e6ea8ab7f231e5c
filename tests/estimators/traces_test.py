"""Tests that compiled steps are not traced more often than needed."""

import pytest

from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import registry
from tests import finite


@pytest.mark.parametrize('name', ['deep_td', 'dual_dice'])
def test_a_step_is_traced_once(name):
  config = hyperparameters.Hyperparameters(
      hidden_units=8, batch_size=16, ratio_batch_size=16, start_pool=16
  )
  problem = finite.chain(repeats=2).problem
  made = registry.make_estimators([name], problem, config, seed=1)
  (phase,) = made[name].phases
  traced = []
  training.compile_steps(lambda: traced.append(name) or phase.step())(2)
  assert traced == [name]
