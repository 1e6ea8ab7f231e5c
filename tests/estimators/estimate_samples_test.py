"""Tests for estimates from N transitions that are drawn, as in the paper."""

import dataclasses

import numpy as np
import pytest

import srdice_tf
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import interface
from srdice_tf.estimators import registry
from srdice_tf.policies import composed
from tests import finite

_SMALL = {
    'encoder_steps': 2,
    'successor_steps': 2,
    'updates': 3,
    'num_features': 8,
    'hidden_units': 8,
    'ratio_batch_size': 16,
    'start_pool': 32,
}


@pytest.fixture(scope='module')
def chain():
  return finite.chain()


def _fit(chain, num_samples, names=tuple(registry.ESTIMATORS)):
  config = hyperparameters.Hyperparameters(
      **_SMALL, estimate_samples=num_samples
  )
  estimators = registry.make_estimators(names, chain.problem, config, seed=0)
  training.PhaseTrainer(estimators).run()
  return {
      name: method
      for name, method in estimators.items()
      if method.HAS_RATIOS
  }


def _estimate(method, num_samples):
  method.config = dataclasses.replace(
      method.config, estimate_samples=num_samples
  )
  return float(method.estimate())


def test_each_ratio_method_draws(chain):
  estimators = _fit(chain, 10)
  assert len(estimators) == len(registry.ESTIMATORS) - 3  # dr, Deep SR and TD.
  rewards = chain.dataset.rewards.numpy()
  for name, method in estimators.items():
    products = method.ratios().numpy() * rewards
    whole = _estimate(method, 0)
    assert whole == pytest.approx(products.mean(), rel=1e-4), name
    for number in (7, 39_999):  # No share of which is a tenth.
      error = products.std() / np.sqrt(number)
      found = _estimate(method, number)
      assert found == pytest.approx(whole, abs=5.0 * error), name
      assert found != whole, name
      assert found == _estimate(method, number), name
      assert found == float(method.interim_estimate()), name


def test_other_transitions_after_other_updates(chain, monkeypatch):
  """With replacement, evenly over the data; each method has its own."""
  drawn = {}
  draw = interface.RatioEstimator._ratios_at

  def record(self, index):
    drawn.setdefault(self.name, []).append(index.numpy())
    return draw(self, index)

  monkeypatch.setattr(interface.RatioEstimator, '_ratios_at', record)
  estimators = _fit(chain, 50_000, ['srdice', 'srdice_closed'])
  estimators['srdice'].phases[-1].step()
  estimators['srdice'].estimate()
  first, second = drawn['srdice']
  assert np.any(first != second)
  assert np.any(first != drawn['srdice_closed'][0])
  counts = np.bincount(first, minlength=chain.problem.size)
  assert len(counts) == chain.problem.size
  expected = 50_000 / chain.problem.size
  assert np.abs(counts - expected).max() < 6.0 * np.sqrt(expected)


@pytest.mark.parametrize('algo', ['srdice', 'dual_dice'])
def test_drawn_again_when_loaded(chain, algo, tmp_path):
  policy = composed.UniformPolicy(*chain.specs)
  found = srdice_tf.evaluate(
      policy,
      chain.dataset,
      algo,
      finite.GAMMA,
      hyperparameters={**_SMALL, 'estimate_samples': 50},
      seed=4,
      progress=False,
  )[algo]
  srdice_tf.save(found.estimator, str(tmp_path))
  loaded = srdice_tf.load(str(tmp_path), policy, chain.dataset)
  assert loaded.value == found.value
