"""Deep TD: fitted Q evaluation with a target network."""

import dataclasses
import functools

import tensorflow as tf

from srdice_tf.estimators import config_fields
from srdice_tf.estimators import interface
from srdice_tf.estimators import random_streams


@dataclasses.dataclass(frozen=True)
class DeepTDConfig(config_fields.StartPool):
  """The start pairs; ValueFunctionConfig has the training of Q."""


class DeepTD(interface.Estimator):
  """(1-gamma) E[Q(s0, a0)]."""

  NAME = 'deep_td'
  Config = DeepTDConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._value_function = shared.value_function
    self.phases = self._value_function.phases

  @classmethod
  def shared_parts(cls, config):
    return ('value_function',)

  @functools.cached_property
  def _starts(self):
    rng = random_streams.generator(self.seed, random_streams.START_POOL)
    return self.problem.start_pool(self.config.start_pool, rng)  # P pairs

  def estimate(self):
    values = self.problem.map_inputs(self._value_function, self._starts)
    return (1.0 - self.problem.gamma) * tf.reduce_mean(values)  # of [P, 1]
