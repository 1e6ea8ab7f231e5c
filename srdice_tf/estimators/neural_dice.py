"""What DualDICE and GradientDICE share: networks f and w, steps in turn."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.networks import layers


@dataclasses.dataclass(frozen=True)
class NeuralDICEConfig(
    config_fields.Networks,
    config_fields.AdamEpsilon,
    config_fields.Updates,
    config_fields.RatioMinibatches,
    config_fields.Ratios,
):
  """Networks f and w, and their training."""

  def needed_bytes(self):
    return {**super().needed_bytes(), 'ratio_batch_size': self.bytes_of_batch}


class NeuralDICE(interface.RatioEstimator):
  """Ratio w(s, a), a network of its own, beside an adversary f(s, a)."""

  ACTIVATION: str

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    network = lambda: problem.inputs.network(
        1, config, self.init_rng, self.ACTIVATION
    )
    adam = lambda: layers.adam(self._learning_rate(), config.adam_epsilon)
    self._f, self._w = network(), network()
    self._f_optimizer, self._w_optimizer = adam(), adam()
    cost = 1.6 * config.ratio_batch_size
    self.phases = (
        phases.Phase(self.NAME, config.updates, self._step, cost=cost),
    )
    self._known_weights = np.empty(0)
    self._known_ratios = None
    self._interim_ratios = None
    self._at = None

  def _learning_rate(self) -> float:
    """Returns the rate of f and w."""
    raise NotImplementedError

  def _step(self) -> dict[str, tf.Tensor]:
    """Draws a minibatch, updates f and w in turn, returns metrics."""
    raise NotImplementedError

  def _sample(self):
    """Returns transitions and as many pairs (s0, a0), for one update."""
    self._count_update()
    size = self.config.ratio_batch_size
    batch = self.problem.sample(size, self.rng)
    return batch, self.problem.sample_starts(size, self.rng)

  def _values(self, batch, starts) -> losses.DiceValues:
    f = self._f(
        problems.concat([batch.inputs, batch.next_inputs, starts])
    )  # [3 B, 1]
    now, after, start = tf.split(f[:, 0], 3)  # [B] each
    w = self._w(batch.inputs)[:, 0]  # [B]
    return losses.DiceValues(w, now, after, start)

  def ratio(self, inputs):
    return self._w(inputs)[:, 0]

  def _ratios_at(self, index):
    if self._at is None:
      self._at = self.problem.at(self.ratio)
    return self._at(index)

  def interim_estimate(self):
    is_small = self.problem.size <= self.problem.inputs.interim_size
    if is_small or self.config.estimate_samples:
      return self.estimate()
    if self._interim_ratios is None:
      thin, _ = self.problem.thinned(self.problem.inputs.interim_size)
      self._interim_rewards = thin.rewards
      self._interim_ratios = thin.over_data(self.ratio)
    return tf.reduce_mean(self._interim_ratios() * self._interim_rewards)

  def ratios(self):
    """Returns the ratios [n]; computes them again only if w has changed.

    With many frames that takes minutes, and a report needs them several times.
    """
    weights = np.concatenate(
        [v.numpy().ravel() for v in self._w.trainable_variables]
    )
    if not np.array_equal(weights, self._known_weights):
      self._known_weights, self._known_ratios = weights, super().ratios()
    return self._known_ratios
