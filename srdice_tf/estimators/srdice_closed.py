"""SR-DICE with w in closed form, over the phi and psi that SR-DICE trains."""

import tensorflow as tf

from srdice_tf.estimators import base
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.estimators import representation as representation_lib


class SRDICEClosed(base.RatioEstimator):
  """Ratio w.phi(s, a), where E[phi phi^T] w = (1-gamma) E[psi(s0, a0)].

  It is where SR-DICE's own w goes, but for `ridge`, in one step of float64.
  """

  def __init__(self, representation: representation_lib.Representation, seed):
    super().__init__(
        'srdice_closed', representation.problem, representation.config, seed
    )
    self._representation = representation
    w = tf.zeros([self.config.num_features], tf.float64)
    self._w = tf.Variable(w, trainable=False, name='w')  # [F]
    self.phases = (
        *representation.phases,
        base.Phase(
            'srdice_closed',
            1,
            self._solve,
            representation.prepare_starts,
            compiled=False,
            cost=200.0,
        ),
    )

  def _solve(self):
    self._w.assign(self._representation.ratio_weights())
    return {'mean_ratio': tf.reduce_mean(self.ratios())}

  def _product(self, features: tf.Tensor) -> tf.Tensor:
    return tf.linalg.matvec(tf.cast(features, tf.float64), self._w)  # [B]

  def ratio(self, inputs):
    return self._product(self._representation.encode(inputs))

  def ratios(self):
    self._representation.prepare()
    features = self._representation.features  # [n, F]
    # In chunks: all features in float64 would be twice as large again.
    return problem_lib.map_chunks(
        lambda index: self._product(tf.gather(features, index)),
        self.problem.size,
    )
