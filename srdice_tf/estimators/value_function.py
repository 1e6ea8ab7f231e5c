"""Q(s, a) of the target policy, by fitted Q evaluation."""

import dataclasses

import tensorflow as tf

from srdice_tf import losses
from srdice_tf import ranges
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import phases
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams
from srdice_tf.estimators import value_members
from srdice_tf.networks import layers

_NAME = 'deep_td'  # Names its phase and its random streams.


@dataclasses.dataclass(frozen=True)
class ValueFunctionConfig(config_fields.TargetNetworks, config_fields.Updates):
  """Deep TD's Q: a network with a target network.

  Attributes:
    value_members: Q networks that are trained at once; Deep TD's estimate is of
      the first, whatever their number, and the others tell how much Q varies
      with its initial weights and with the episodes.
    value_member_units: Units of each hidden layer of the Q networks after the
      first.
  """

  value_members: int = ranges.between(1, 64, 1)
  # Half of the first one's: four of them cost about as much as it does.
  value_member_units: int = ranges.at_least(1, 128)

  def needed_bytes(self):
    num_layers, others = self.hidden_layers, self.value_members - 1
    return {
        **super().needed_bytes(),
        # Weights, gradients and Adam's two means, in float32.
        'value_member_units': lambda units: (
            16 * others * units * (1 + (num_layers - 1) * units)
        ),
    }


class ValueFunction(tf.Module):
  """Q(s, a) = E[sum_t gamma^t r_t], trained with a target network."""

  Config = ValueFunctionConfig

  def __init__(
      self, problem: problems.Problem, config: ValueFunctionConfig, seed: int
  ):
    super().__init__(name='value_function')
    self.problem = problem
    self.config = config
    self.rng = random_streams.generator(seed, _NAME)
    rng = random_streams.numpy_generator(seed, _NAME)
    network = lambda: problem.inputs.network(1, config, rng)
    self._q, self._target = network(), network()
    self._target.set_weights(self._q.get_weights())
    self._num_updates = tf.Variable(0, dtype=tf.int64, name='num_updates')
    self._optimizer = layers.adam(config.learning_rate, config.adam_epsilon)
    others = config.value_members - 1
    self._others = None
    if others:
      self._others = value_members.ValueMembers(problem, config, others, seed)
    cost = 0.7 * config.batch_size * (1.0 + 0.4 * others)
    self.phases = (
        phases.Phase(_NAME, config.updates, self._step, cost=cost),
    )

  def __call__(self, inputs) -> tf.Tensor:
    """Returns Q [B, 1] of (s, a)."""
    return self._q(inputs)

  def of_members(self, inputs) -> tf.Tensor:
    """Returns Q [B, K] of all networks, the first one first."""
    if self._others is None:
      return self._q(inputs)
    return tf.concat([self._q(inputs), self._others(inputs)], axis=-1)

  def _step(self):
    batch = self.problem.sample(self.config.batch_size, self.rng)
    target = losses.bootstrap_target(
        batch.rewards,
        self._target(batch.next_inputs)[:, 0],
        self.problem.gamma,
        batch.not_done,
    )
    variables = self._q.trainable_variables
    loss = gradient_steps.gradient_step(
        self._optimizer,
        variables,
        lambda: losses.mean_squared_error(self._q(batch.inputs)[:, 0], target),
    )
    gradient_steps.update_target(
        self._target, self._q, self.config, self._num_updates, loss
    )
    metrics = {'loss': loss}
    if self._others is not None:
      metrics['loss_of_others'] = self._others.step(batch)
    return metrics
