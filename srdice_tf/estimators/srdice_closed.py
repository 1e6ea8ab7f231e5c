"""SR-DICE with w in closed form, over the phi and psi that SR-DICE trains."""

import dataclasses
import json

import tensorflow as tf

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import closed_ridge
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import flow
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems


@dataclasses.dataclass(frozen=True)
class SRDICEClosedConfig(config_fields.Ratios):
  """What the ratios must satisfy; RepresentationConfig has all else.

  Attributes:
    closed_mass: Where the ratios of srdice_closed have their mass from: psi as
      it was learned, or the flow of the constant, which needs no psi and makes
      their mean 1 where nothing terminates.
    closed_select: How the ridge of srdice_closed is chosen: none takes ridge as
      given, flow tries several and takes that with the smallest flow residual
      on episodes that were not fitted.
  """

  closed_mass: str = ranges.one_of(('psi', 'flow'), 'psi')
  closed_select: str = ranges.one_of(('none', 'flow'), 'none')


class SRDICEClosed(interface.RatioEstimator):
  """Ratio w.phi(s, a), where E[phi phi^T] w = (1-gamma) E[psi(s0, a0)].

  SR-DICE's own w converges to it, up to the `ridge`; here it is solved for in
  one step, in float64. psi may be wrong about how long the process lasts, and
  then the ratios have the wrong mass. With `closed_mass` of the flow they are
  the nearest that satisfy E_D[ratio (1 - gamma not_done)] = 1-gamma.
  """

  NAME = 'srdice_closed'
  Config = SRDICEClosedConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    if config.closed_select == 'flow':
      closed_ridge.check(problem)
    self._representation = shared.representation
    w = tf.zeros([self._representation.config.num_features], tf.float64)
    self._w = tf.Variable(w, trainable=False, name='w')  # [F]
    # As JSON in a variable, so that checkpoints keep what was tried.
    self._trials = tf.Variable('[]', trainable=False)
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
    has_mass = self.config.closed_mass == 'flow'
    system = self._representation.closed_system(has_mass)
    ridge = self._representation.config.ridge
    if self.config.closed_select == 'flow':
      ridge = self._chosen_ridge(system)
    self._w.assign(system.weights(ridge))
    return {'mean_ratio': tf.reduce_mean(self.ratios())}

  def _chosen_ridge(self, system: closed_ridge.ClosedSystem) -> float:
    config = self.shared.hyperparameters.of(flow.FlowTestConfig)
    has_mass = system.means is not None
    tried = closed_ridge.trials(
        self._representation, config, has_mass, self.seed
    )
    for trial in tried:
      trial['estimate'] = self._estimate_with(system, trial['ridge'])
    self._trials.assign(json.dumps(tried))
    return tried[0]['ridge']

  def _estimate_with(self, system, ridge: float) -> float:
    try:
      w = system.weights(ridge)  # [F]
    except errors.UserError:
      return float('nan')
    mean_product = self._representation.mean_reward_features  # [F]
    return float(tf.tensordot(w, mean_product, 1))

  def trials(self):
    return json.loads(self._trials.numpy())

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
