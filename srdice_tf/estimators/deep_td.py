"""Deep TD: fitted Q evaluation with a target network."""

import tensorflow as tf

from srdice_tf import losses
from srdice_tf.estimators import base
from srdice_tf.networks import layers


class DeepTD(base.Estimator):
  """(1-gamma) E[Q(s0, a0)]."""

  def __init__(self, problem, config, seed):
    super().__init__('deep_td', problem, config, seed)
    network = lambda: problem.inputs.network(1, config, self.init_rng)
    self._q, self._target = network(), network()
    self._target.set_weights(self._q.get_weights())
    self._num_updates = tf.Variable(0, dtype=tf.int64, name='num_updates')
    self._optimizer = layers.adam(config.learning_rate, config.adam_epsilon)
    self._starts = None
    self.phases = (
        base.Phase(
            'deep_td', config.updates, self._step, self._prepare, cost=0.7
        ),
    )

  def _prepare(self):
    rng = base.generator(self.seed, base.START_POOL)
    self._starts = self.problem.start_pool(self.config.start_pool, rng)

  def _step(self):
    batch = self.problem.sample(self.config.batch_size, self.rng)
    target = losses.bootstrap_target(
        batch.rewards,
        self._target(batch.next_inputs)[:, 0],
        self.problem.gamma,
        batch.not_done,
    )
    variables = self._q.trainable_variables
    loss = base.gradient_step(
        self._optimizer,
        variables,
        lambda: losses.mean_squared_error(self._q(batch.inputs)[:, 0], target),
    )
    base.update_target(
        self._target, self._q, self.config, self._num_updates, loss
    )
    return {'loss': loss}

  def estimate(self):
    values = self.problem.map_inputs(self._q, self._starts)  # [P, 1]
    return (1.0 - self.problem.gamma) * tf.reduce_mean(values)
