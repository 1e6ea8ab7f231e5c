"""SR-DICE with w in closed form, over the phi and psi that SR-DICE trains."""

import dataclasses

import tensorflow as tf

from srdice_tf.estimators import config_fields
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems


@dataclasses.dataclass(frozen=True)
class SRDICEClosedConfig(config_fields.Ratios):
  """What is made of the ratios; RepresentationConfig has all else."""


class SRDICEClosed(interface.RatioEstimator):
  """Ratio w.phi(s, a), where E[phi phi^T] w = (1-gamma) E[psi(s0, a0)].

  SR-DICE's own w converges to it, up to the `ridge`; here it is solved for in
  one step, in float64.
  """

  NAME = 'srdice_closed'
  Config = SRDICEClosedConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._representation = shared.representation
    w = tf.zeros([self._representation.config.num_features], tf.float64)
    self._w = tf.Variable(w, trainable=False, name='w')  # [F]
    self.phases = (
        *self._representation.phases,
        phases.Phase(
            self.NAME,
            1,
            self._solve,
            self._representation.prepare_starts,
            compiled=False,
            cost=50_000.0,
        ),
    )

  @classmethod
  def shared_parts(cls, config):
    return ('representation', *super().shared_parts(config))

  def _solve(self):
    self._w.assign(self._representation.ratio_weights())
    return {'mean_ratio': tf.reduce_mean(self.ratios())}

  def _product(self, features: tf.Tensor) -> tf.Tensor:
    return tf.linalg.matvec(tf.cast(features, tf.float64), self._w)  # [B]

  def ratio(self, inputs):
    return self._product(self._representation.encode(inputs))

  def ratios(self):
    if self.problem.is_streamed:
      return super().ratios()
    self._representation.prepare()
    features = self._representation.features  # [n, F]
    # In chunks: a copy of all features in float64 would take much memory.
    return problems.map_chunks(
        lambda index: self._product(tf.gather(features, index)),
        self.problem.size,
    )
