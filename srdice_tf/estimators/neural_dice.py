"""What DualDICE and GradientDICE share: networks f and w, steps in turn."""

import numpy as np
import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.networks import layers


class NeuralDICE(base.RatioEstimator):
  """Ratio w(s, a), a network of its own, beside an adversary f(s, a)."""

  def __init__(self, name, problem, config, seed, activation, learning_rate):
    super().__init__(name, problem, config, seed)
    network = lambda: problem.inputs.network(
        1, config, self.init_rng, activation
    )
    self._f, self._w = network(), network()
    self._f_optimizer = layers.adam(learning_rate, config.adam_epsilon)
    self._w_optimizer = layers.adam(learning_rate, config.adam_epsilon)
    cost = 1.6 * config.ratio_batch_size / config.batch_size
    self.phases = (base.Phase(name, config.updates, self._step, cost=cost),)
    self._known_weights = np.empty(0)
    self._known_ratios = None
    self._interim_ratios = None
    self._at = None

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
        problem_lib.concat([batch.inputs, batch.next_inputs, starts])
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
      self._interim_rewards = thin.dataset.rewards
      self._interim_ratios = thin.over_data(self.ratio)
    return tf.reduce_mean(self._interim_ratios() * self._interim_rewards)

  def ratios(self):
    """Returns the ratios [n], computed anew only if w has changed.

    Over many frames that takes minutes, and a report needs them several times.
    """
    weights = np.concatenate(
        [v.numpy().ravel() for v in self._w.trainable_variables]
    )
    if not np.array_equal(weights, self._known_weights):
      self._known_weights, self._known_ratios = weights, super().ratios()
    return self._known_ratios
