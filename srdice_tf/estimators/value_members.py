"""Further Q networks beside Deep TD's, to see how much Q is a matter of chance.

Each has its own initial weights and its own episodes: its loss counts them as
often as a bootstrap draws them. All are trained at once, on the minibatches of
the first.
"""

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import losses
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import problems
from srdice_tf.estimators import random_streams
from srdice_tf.networks import layers
from srdice_tf.networks import stacked

_NAME = 'value_members'


class ValueMembers(tf.Module):
  """M networks Q(s, a), each with a target network."""

  def __init__(self, problem: problems.Problem, config, count: int, seed: int):
    """Makes the networks and draws their episodes.

    Args:
      problem: the data, the target policy and the discount.
      config: a ValueFunctionConfig.
      count: M.
      seed: of everything random.

    Raises:
      UserError: on frames, whose networks cannot be stacked.
    """
    super().__init__(name=_NAME)
    if not problem.has_vectors:
      raise errors.UserError(
          _NAME, config.value_members, 'observations are frames, which take 1'
      )
    self._problem = problem
    self._config = config
    rng = random_streams.numpy_generator(seed, _NAME)
    network = lambda: stacked.StackedMLP(
        count,
        problem.inputs.size,
        [config.value_member_units] * config.hidden_layers,
        1,
        rng,
        tf.nn.relu,
    )
    self._q, self._target = network(), network()
    for old, new in zip(self._target.variables, self._q.variables):
      old.assign(new)
    self._num_updates = tf.Variable(0, dtype=tf.int64, name='num_updates')
    self._optimizer = layers.adam(config.learning_rate, config.adam_epsilon)
    num_episodes = int(tf.reduce_max(problem.episodes)) + 1
    shares = np.full(num_episodes, 1.0 / num_episodes)
    drawn = rng.multinomial(num_episodes, shares, count).T  # [E, M]
    self._drawn = tf.constant(drawn, tf.float32)

  def __call__(self, inputs) -> tf.Tensor:
    """Returns Q [B, M] of (s, a)."""
    return tf.transpose(self._q(inputs)[:, :, 0])

  def step(self, batch: problems.Transitions) -> tf.Tensor:
    """Updates all networks; returns the sum of their losses."""
    after = tf.transpose(self._target(batch.next_inputs)[:, :, 0])  # [B, M]
    target = losses.bootstrap_target(
        batch.rewards[:, None], after, self._problem.gamma, batch.not_done
    )
    episodes = self._problem.episodes_at(batch.index)  # [B]
    weights = tf.gather(self._drawn, episodes)  # [B, M]
    loss = gradient_steps.gradient_step(
        self._optimizer,
        self._q.trainable_variables,
        lambda: losses.weighted_squared_error(
            self(batch.inputs), target, weights
        ),
    )
    gradient_steps.update_target(
        self._target, self._q, self._config, self._num_updates, loss
    )
    return loss
