"""An estimator that is added: its class and one entry of the registry."""

import dataclasses

import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import training
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import registry
from tests import walk

_SMALL = {'updates': 20, 'batch_size': 8, 'hidden_units': 8, 'start_pool': 16}


@dataclasses.dataclass(frozen=True)
class _HalfConfig(config_fields.StartPool):
  """How much of Q is taken.

  Attributes:
    half_share: Share of Q that is taken.
  """

  half_share: float = ranges.share(0.5)


class _Half(interface.Estimator):
  """Takes a share of Deep TD's Q, which it does not train itself."""

  NAME = 'half'
  Config = _HalfConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._q = shared.value_function
    self._mean = tf.Variable(0.0, trainable=False)
    solve = phases.Phase(self.NAME, 1, self._solve, compiled=False)
    self.phases = (*self._q.phases, solve)

  @classmethod
  def shared_parts(cls, config):
    return ('value_function',)

  def _solve(self):
    starts = self.problem.start_pool(self.config.start_pool, self.rng)
    mean = tf.reduce_mean(self._q(starts))
    self._mean.assign((1.0 - self.problem.gamma) * mean)
    return {'mean': self._mean}

  def estimate(self):
    return self.config.half_share * self._mean


@pytest.fixture(name='registered')
def _registered(monkeypatch):
  monkeypatch.setitem(registry.ESTIMATORS, 'half', _Half)
  hyperparameters.fields.cache_clear()
  yield
  hyperparameters.fields.cache_clear()


def _fit(names, **values):
  problem = walk.problem(walk.dataset(seed=0, num_episodes=5))
  values = hyperparameters.Hyperparameters(**_SMALL, **values)
  estimators = registry.make_estimators(names, problem, values, seed=0)
  reports = []
  training.PhaseTrainer(estimators, interval=10).run(reports.append)
  return estimators, reports


@pytest.mark.usefixtures('registered')
def test_its_fields_are_hyper_parameters():
  field, text = hyperparameters.fields()['half_share']
  assert (field.default, text) == (0.5, 'Share of Q that is taken.')
  with pytest.raises(errors.UserError, match='half_share=2.0'):
    hyperparameters.Hyperparameters(half_share=2.0)
  values = hyperparameters.Hyperparameters(half_share=0.25)
  found = values.for_methods(['half'])
  assert list(found) == ['half', 'value_function']
  assert found['half'] == {'start_pool': 16_384, 'half_share': 0.25}


@pytest.mark.usefixtures('registered')
def test_it_is_trained_with_what_it_shares():
  whole, _ = _fit(['half', 'deep_td'], half_share=1.0)
  alone, _ = _fit(['half'], half_share=0.5)
  ratio = float(alone['half'].estimate()) / float(whole['half'].estimate())
  assert ratio == pytest.approx(0.5)
  assert whole['half'].phases[0] is whole['deep_td'].phases[0]


@pytest.mark.usefixtures('registered')
@pytest.mark.parametrize('names', [['half', 'deep_td'], ['deep_td', 'half']])
def test_a_shared_last_phase_reports_to_its_estimator(names):
  """Whichever of the two is the first."""
  estimators, reports = _fit(names)
  found = [(r.method, r.phase, r.step) for r in reports if r.estimate]
  assert found == [
      ('deep_td', 'deep_td', 10),
      ('deep_td', 'deep_td', 20),
      ('half', 'half', 1),
  ]
  assert reports[1].estimate == float(estimators['deep_td'].estimate())
