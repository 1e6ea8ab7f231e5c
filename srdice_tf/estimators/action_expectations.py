"""Expectations over the target policy's actions at s' and at s0.

Actions are drawn once, so that every pass over the data sees the same ones.
With discrete actions the expectations are exact.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from srdice_tf import memory
from srdice_tf.estimators import problems

# There are few start states, so more actions are drawn at each of them, until
# there are this many pairs (s0, a0), or this many actions at a state.
_MIN_STARTS = 1024
_MAX_START_SAMPLES = 16


class Support(NamedTuple):
  """Actions that stand for the policy's distribution at B states.

  Attributes:
    states: [B, S] as vectors.
    actions: [B, M, A] as vectors.
    weights: [B, M], which sum to 1; None if all are equal.
  """

  states: tf.Tensor
  actions: tf.Tensor
  weights: tf.Tensor | None


def expected(
    function: Callable[[tf.Tensor], tf.Tensor], support: Support
) -> tf.Tensor:
  """Returns E_a[function((s, a))] [B, F] over the actions of a support."""
  values = [
      function(tf.concat([support.states, actions], axis=-1))  # [B, F]
      for actions in tf.unstack(support.actions, axis=1)
  ]
  if support.weights is None:
    return tf.add_n(values) / len(values)
  weights = tf.cast(support.weights, values[0].dtype)  # [B, M]
  weights = tf.split(weights, len(values), axis=1)  # [B, 1] each
  return tf.add_n([w * value for w, value in zip(weights, values)])


class Expectations:
  """The transitions of a problem with fixed actions at s' and s0."""

  def __init__(
      self, problem: problems.Problem, num_samples: int, rng
  ) -> None:
    """Draws the actions.

    Args:
      problem: the data and the policy.
      num_samples: M, actions at each s'; not used if actions are discrete.
      rng: tf.random.Generator.
    """
    self.problem = problem
    if problem.is_streamed:
      self._next = self._draw_blocks(num_samples, rng)
    else:
      self._next = _draw(
          problem, problem.next_parameters, problem.size, num_samples, rng
      )
    repeats = -(-_MIN_STARTS // problem.num_starts)
    self._start = _draw(
        problem,
        problem.start_parameters,
        problem.num_starts,
        min(max(repeats, num_samples), _MAX_START_SAMPLES),
        rng,
    )

  def _draw_blocks(self, num_samples: int, rng):
    """Returns variables with the actions of the block that is loaded.

    A block has the same ones whenever it comes.
    """
    seed = int(rng.make_seeds(1)[0, 0]) % 2**31
    problem, block_rng = self.problem.loaded, tf.random.Generator.from_seed(0)
    index = tf.range(problem.size)
    drawn = lambda: problem.actions.support(
        problem.next_parameters(index), num_samples, block_rng
    )
    compiled = tf.function(drawn, autograph=False).get_concrete_function()
    frozen = lambda spec: tf.Variable(
        tf.zeros(spec.shape, spec.dtype), trainable=False
    )
    actions, weights = compiled.structured_outputs
    variables = frozen(actions), None if weights is None else frozen(weights)

    def load(number: int):
      block_rng.reset_from_seed(seed * 2**31 + number)
      for variable, value in zip(variables, compiled()):
        if variable is not None:
          variable.assign(value)

    self.problem.on_load(load)
    return variables

  def next_support(self, index: tf.Tensor) -> Support:
    """Returns s' and a' of the transitions `index` [B] of `loaded`."""
    states = self.problem.loaded.next_states(index)
    return self._support(states, self._next, index)

  def start_support(self, index: tf.Tensor) -> Support:
    """Returns s0 and a0 of the start states `index` [B]."""
    states = self.problem.start_states(index)
    return self._support(states, self._start, index)

  def _support(self, states, drawn, index) -> Support:
    inputs = self.problem.inputs
    actions, weights = drawn
    actions = tf.gather(actions, index)
    if weights is not None:
      weights = tf.gather(weights, index)
    flat = tf.reshape(actions, tf.concat([[-1], tf.shape(actions)[2:]], 0))
    vectors = inputs.actions(flat)  # [B M, A]
    shape = [-1, actions.shape[1], inputs.num_action_values]
    return Support(inputs.states(states), tf.reshape(vectors, shape), weights)


def _draw(
    problem, parameters_of: Callable, size: int, num_samples: int, rng
) -> tuple[tf.Tensor, tf.Tensor | None]:
  """Returns actions [size, M, ...] and weights [size, M] or None."""
  weights = []

  def parts():
    for index in problems.chunks(size):
      part, weight = problem.actions.support(
          parameters_of(index), num_samples, rng
      )
      weights.append(weight)
      yield part

  actions = memory.concat(parts(), size)
  if weights[0] is None:
    return actions, None
  # Tables of probabilities are in float64, features in float32.
  return actions, tf.cast(tf.concat(weights, 0), tf.float32)
