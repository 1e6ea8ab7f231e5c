"""SR-DICE: density ratios from the successor representation (algorithm 1)."""

import dataclasses

import tensorflow as tf

from srdice_tf import errors
from srdice_tf import losses
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import interface
from srdice_tf.estimators import least_squares
from srdice_tf.estimators import phases
from srdice_tf.networks import encoder
from srdice_tf.networks import layers


@dataclasses.dataclass(frozen=True)
class SRDICEConfig(config_fields.FeatureWeights, config_fields.Ratios):
  """How w is learned; RepresentationConfig has phi and psi."""


class SRDICE(interface.RatioEstimator):
  """Ratio w.phi(s, a), with w learned by Adam; the closed form beside it."""

  NAME = 'srdice'
  Config = SRDICEConfig

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._representation = shared.representation
    self._product = encoder.FeatureProduct(config, self.init_rng)
    self._optimizer = layers.adam(config.weight_rate, config.weight_epsilon)
    self._start_minibatches = None
    self.phases = (
        *self._representation.phases,
        phases.Phase(
            self.NAME,
            config.updates,
            self._step,
            self._prepare,
            cost=config.step_cost,
        ),
    )

  @classmethod
  def shared_parts(cls, config):
    return ('representation', *super().shared_parts(config))

  def _prepare(self):
    self._representation.prepare_starts()
    self._product.set_unit(self._representation.mean_feature)
    # The loss is linear in psi(s0, a0) and psi is frozen, so only the mean of a
    # minibatch counts. One cumulative sum gives it for any B pairs in a row.
    self._start_minibatches = least_squares.window_means(
        self._representation.start_successors, self.config.ratio_batch_size
    )  # [P, F]

  def _step(self):
    size = self.config.ratio_batch_size
    starts = self._start_minibatches
    batch, _ = self._representation.sample_features(size, self.rng)  # [B, F]
    start_index = self.rng.uniform([1], 0, starts.shape[0], tf.int32)
    start = tf.gather(starts, start_index)  # [1, F]
    loss = gradient_steps.gradient_step(
        self._optimizer,
        self._product.trainable_variables,
        lambda: losses.srdice_loss(
            self._product(batch), self._product(start), self.problem.gamma
        ),
    )
    self._count_update()
    return {'loss': loss}

  def ratio(self, inputs):
    return self._product(self._representation.encode(inputs))

  def ratios(self):
    if self.problem.is_streamed:
      return super().ratios()
    self._representation.prepare()
    return self._product(self._representation.features)  # [n]

  def _estimate_of_all(self):
    value = tf.tensordot(
        self._product.effective(), self._representation.mean_reward_features, 1
    )
    return tf.cast(value, tf.float32)

  def closed_form(self) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns w* [F], for ratio = w*.phi, and its estimate, in float64."""
    w = self._representation.ratio_weights()  # [F]
    value = tf.tensordot(w, self._representation.mean_reward_features, 1)
    return w, value

  def details(self):
    """Returns the closed form's value and, from the same features, Deep SR's.

    Theorem 4: the two are equal. Nothing if the features are singular.
    """
    try:
      _, value = self.closed_form()
    except errors.UserError:  # The estimate itself needs no closed form.
      return {}
    direct = (1.0 - self.problem.gamma) * tf.tensordot(
        self._representation.reward_weights(),
        self._representation.mean_start_successor,
        1,
    )
    return {
        'closed_form': float(value),
        'least_squares_deep_sr': float(direct),
        'theorem_4_difference': float(value - direct),
    }

  def lines(self):
    details = self.details()
    if not details:
      return []
    return [
        f'{self.name}: closed form {details["closed_form"]:.6f}, least-squares'
        f' Deep SR {details["least_squares_deep_sr"]:.6f} (theorem 4: equal;'
        f' difference {details["theorem_4_difference"]:.1e})'
    ]
