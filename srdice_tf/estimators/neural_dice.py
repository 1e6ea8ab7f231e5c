"""What DualDICE and GradientDICE share: networks f and w, steps in turn."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.networks import layers
from srdice_tf.networks import vector_inputs

STATES_ACTIONS, PHI, PSI = 'states_actions', 'phi', 'psi'


@dataclasses.dataclass(frozen=True)
class NeuralDICEConfig(
    config_fields.Networks,
    config_fields.AdamEpsilon,
    config_fields.Updates,
    config_fields.RatioMinibatches,
    config_fields.Ratios,
):
  """Networks f and w, and their training.

  Attributes:
    dice_inputs: What f and w of DualDICE and GradientDICE take: states_actions,
      or phi or psi, trained as for SR-DICE and then frozen.
    dice_linear: Whether f and w of DualDICE and GradientDICE are linear in what
      they take, without a bias, instead of networks.
  """

  dice_inputs: str = ranges.one_of((STATES_ACTIONS, PHI, PSI), STATES_ACTIONS)
  dice_linear: bool = False

  def needed_bytes(self):
    return {**super().needed_bytes(), 'ratio_batch_size': self.bytes_of_batch}

  @property
  def step_cost(self) -> float:
    """What a step costs; see Phase."""
    functions = 0.1 if self.dice_linear else 1.6
    features = 0.0 if self.dice_inputs == STATES_ACTIONS else 0.7
    return (functions + features) * self.ratio_batch_size


class NeuralDICE(interface.RatioEstimator):
  """Ratio w(s, a), a network of its own, beside an adversary f(s, a).

  Both may be functions of features of (s, a), and linear: see the config.
  """

  ACTIVATION: str

  def __init__(self, problem, config, seed, shared):
    super().__init__(problem, config, seed, shared)
    self._check_inputs()
    # None if f and w take (s, a) as it is.
    self._representation = None
    if config.dice_inputs != STATES_ACTIONS:
      self._representation = shared.representation
    adam = lambda: layers.adam(self._learning_rate(), config.adam_epsilon)
    self._f, self._w = self._network(), self._network()
    self._f_optimizer, self._w_optimizer = adam(), adam()
    self.phases = (
        *self._feature_phases(),
        phases.Phase(
            self.NAME, config.updates, self._step, cost=config.step_cost
        ),
    )
    self._known_weights = np.empty(0)
    self._known_ratios = None
    self._interim_ratios = None
    self._at = None

  @classmethod
  def shared_parts(cls, config):
    is_plain = config.dice_inputs == STATES_ACTIONS
    own = () if is_plain else ('representation',)
    return (*own, *super().shared_parts(config))

  def _check_inputs(self):
    """Raises an error if frames are to be anything but networks' inputs.

    Their phi does not know the action, and networks over psi would not be
    linear in the actions' probabilities.
    """
    expected = {'dice_inputs': STATES_ACTIONS, 'dice_linear': False}
    for name, value in expected.items():
      found = getattr(self.config, name)
      if not self.problem.has_vectors and found != value:
        raise errors.UserError(
            name, found, f'states are frames; expected {value}'
        )

  def _network(self) -> tf.keras.Model:
    """Returns f or w, from its inputs [B, ...] to [B, 1]."""
    config, inputs = self.config, self.problem.inputs
    if self._representation is None and not config.dice_linear:
      return inputs.network(1, config, self.init_rng, self.ACTIVATION)
    size = inputs.size
    if self._representation is not None:
      size = self._representation.config.num_features
    if config.dice_linear:
      return layers.linear(size, self.init_rng)
    hidden = [config.hidden_units] * config.hidden_layers
    return layers.mlp(size, hidden, 1, self.init_rng, self.ACTIVATION)

  def _feature_phases(self) -> tuple[phases.Phase, ...]:
    """Returns the phases that train what f and w take; phi needs no psi."""
    if self._representation is None:
      return ()
    encoder, successor = self._representation.phases
    is_phi = self.config.dice_inputs == PHI
    return (encoder,) if is_phi else (encoder, successor)

  def _inputs_of(self, pairs: vector_inputs.Inputs) -> vector_inputs.Inputs:
    """Returns what f and w take of pairs (s, a): themselves, or phi or psi."""
    if self._representation is None:
      return pairs
    is_phi = self.config.dice_inputs == PHI
    features = self._representation
    return features.encode(pairs) if is_phi else features.successor(pairs)

  def _learning_rate(self) -> float:
    """Returns the rate of f and w."""
    raise NotImplementedError

  def _adversaries(self) -> tuple[tuple, tuple]:
    """Returns the optimisers of f and of what goes with it, and variables."""
    return (self._f_optimizer,), (self._f.trainable_variables,)

  def _loss(self, values: losses.DiceValues, not_done) -> tf.Tensor:
    """Returns what f goes down and w goes up."""
    raise NotImplementedError

  def _step(self) -> dict[str, tf.Tensor]:
    return {'objective': self._alternate()}

  def _alternate(self) -> tf.Tensor:
    """Draws a minibatch, updates f, then w; returns the loss before both."""
    batch, starts = self._sample()
    variables = self._w.trainable_variables
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(variables)
      w = self._w(batch.inputs)[:, 0]  # [B]
    loss = gradient_steps.gradient_step(
        *self._adversaries(),
        lambda: self._loss(self._values(w, batch, starts), batch.not_done),
    )
    with tf.control_dependencies([loss]):
      # f has changed, w has not: it is as above.
      with tf.GradientTape(watch_accessed_variables=False) as over_w:
        over_w.watch(w)
        later = self._loss(self._values(w, batch), batch.not_done)
      slopes = -over_w.gradient(later, w)  # [B]
      gradients = tape.gradient(w, variables, slopes)
      return gradient_steps.apply(
          (self._w_optimizer,), (variables,), (gradients,), loss
      )

  def _sample(self):
    """Returns transitions and as many pairs (s0, a0), for one update.

    The pairs are as f and w take them: features are computed once for both.
    """
    self._count_update()
    size = self.config.ratio_batch_size
    batch = self.problem.sample(size, self.rng)
    starts = self.problem.sample_starts(size, self.rng)
    batch = batch._replace(
        inputs=self._inputs_of(batch.inputs),
        next_inputs=self._inputs_of(batch.next_inputs),
    )
    return batch, self._inputs_of(starts)

  def _values(self, w, batch, starts=None) -> losses.DiceValues:
    """Returns w beside f of a minibatch.

    Args:
      w: [B] ratios.
      batch: transitions.
      starts: as many pairs (s0, a0); without them their f counts as 0, which
        makes no difference to the gradient of w.
    """
    parts = [batch.inputs, batch.next_inputs]
    parts += [] if starts is None else [starts]
    f = self._f(problems.concat(parts))[:, 0]  # [2 B] or [3 B]
    now, after, *start = tf.split(f, len(parts))  # [B] each
    start = start[0] if start else tf.zeros_like(now)
    return losses.DiceValues(w, now, after, start)

  def ratio(self, inputs):
    return self._w(self._inputs_of(inputs))[:, 0]

  def _ratios_at(self, index):
    if self._at is None:
      self._at = self.problem.at(self.ratio)
    return self._at(index)

  def interim_estimate(self):
    is_small = self.problem.size <= self.problem.interim_size
    if is_small or self.config.estimate_samples:
      return self.estimate()
    if self._interim_ratios is None:
      thin, _ = self.problem.thinned(self.problem.interim_size)
      self._interim_rewards = thin.rewards
      self._interim_ratios = thin.over_data(self.ratio)
    return tf.reduce_mean(self._interim_ratios() * self._interim_rewards)

  def ratios(self):
    """Returns the ratios [n]; computes them again only if w has changed.

    With many frames that takes minutes, and a report needs them several times.
    """
    variables = list(self._w.trainable_variables)
    if self._representation is not None:
      variables += self._representation.trainable_variables
    weights = np.concatenate([v.numpy().ravel() for v in variables])
    if not np.array_equal(weights, self._known_weights):
      self._known_weights, self._known_ratios = weights, super().ratios()
    return self._known_ratios
