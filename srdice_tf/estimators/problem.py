"""What all estimators of one run share: data, target policy and discount.

What is frozen is computed here once: the parameters of the target policy's
action distribution at all next and start states.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from srdice_tf import finite
from srdice_tf.networks import inputs as inputs_lib

_CHUNK = 8192


class Transitions(NamedTuple):
  """A minibatch, with fresh actions of the target policy at s'.

  Attributes:
    index: [B] rows of the data set.
    inputs: [B, S + A] (s, a) as vectors.
    rewards: [B].
    not_done: [B].
    next_states: [B, S] s' as vectors.
    next_inputs: [B, S + A] (s', a') with a' ~ pi(s').
  """

  index: tf.Tensor
  inputs: tf.Tensor
  rewards: tf.Tensor
  not_done: tf.Tensor
  next_states: tf.Tensor
  next_inputs: tf.Tensor


class Problem:
  """To evaluate the target policy with discount gamma from a data set."""

  def __init__(
      self,
      dataset,
      actions,
      inputs: inputs_lib.VectorInputs,
      gamma: float,
      cache: bool = True,
      mdp: finite.FiniteMDP | None = None,
  ):
    """Computes the parameters of the target policy over the data.

    Args:
      dataset: replay.Dataset.
      actions: policies.actions.TargetActions of the target policy.
      inputs: how states and actions become vectors.
      gamma: discount.
      cache: whether to keep the parameters; without, they are computed anew
        for each minibatch, to the same numbers.
      mdp: the MDP itself, where it is finite and known.
    """
    self.dataset = dataset
    self.actions = actions
    self.inputs = inputs
    self.gamma = gamma
    self.mdp = mdp
    self.size = dataset.num_transitions
    self.num_starts = dataset.num_initial_states
    self._next, self._start = None, None
    if cache:
      self._next = map_chunks(_compile(self._next_parameters), self.size)
      self._start = map_chunks(
          _compile(self._start_parameters), self.num_starts
      )

  def _next_parameters(self, index):
    if self._next is not None:
      return tf.gather(self._next, index)
    return self.actions.parameters(self.dataset.next_states(index))

  def _start_parameters(self, index):
    if self._start is not None:
      return tf.gather(self._start, index)
    return self.actions.parameters(self.dataset.initial_states(index))

  def state_actions(self, index: tf.Tensor) -> tf.Tensor:
    """Returns (s, a) [B, S + A] of the transitions `index`."""
    actions = tf.gather(self.dataset.actions, index)
    return self.inputs(self.dataset.states(index), actions)

  def sample(self, batch_size: int, rng: tf.random.Generator) -> Transitions:
    """Returns transitions drawn uniformly, with fresh next actions."""
    batch = self.dataset.sample(batch_size, rng)
    parameters = self._next_parameters(batch.index)
    next_actions = self.actions.sample(parameters, rng)
    next_states = self.inputs.states(batch.next_states)  # [B, S]
    next_actions = self.inputs.actions(next_actions)  # [B, A]
    return Transitions(
        index=batch.index,
        inputs=self.inputs(batch.states, batch.actions),
        rewards=batch.rewards,
        not_done=batch.not_done,
        next_states=next_states,
        next_inputs=tf.concat([next_states, next_actions], axis=-1),
    )

  def sample_starts(self, batch_size: int, rng) -> tf.Tensor:
    """Returns (s0, a0) [B, S + A], a0 ~ pi(s0), s0 drawn uniformly."""
    batch = self.dataset.sample_initial(batch_size, rng)
    return self._starts(batch.index, rng)

  def start_pool(self, size: int, rng) -> tf.Tensor:
    """Returns about `size` pairs (s0, a0), each start state equally often."""
    repeats = max(1, -(-size // self.num_starts))
    index = tf.tile(tf.range(self.num_starts), [repeats])  # [P]
    return self._starts(index, rng)

  def _starts(self, index, rng) -> tf.Tensor:
    actions = self.actions.sample(self._start_parameters(index), rng)
    return self.inputs(self.dataset.initial_states(index), actions)

  def over_data(
      self, function: Callable[[tf.Tensor], tf.Tensor]
  ) -> Callable[[], tf.Tensor]:
    """Returns what computes function((s, a)) for all transitions, [n, ...]."""
    compiled = _compile(lambda index: function(self.state_actions(index)))
    return lambda: map_chunks(compiled, self.size)


def map_chunks(
    function: Callable[[tf.Tensor], tf.Tensor], size: int
) -> tf.Tensor:
  """Returns function(index) for index 0..size-1, computed in chunks."""
  chunks = [
      function(tf.range(begin, min(begin + _CHUNK, size)))
      for begin in range(0, size, _CHUNK)
  ]
  return tf.concat(chunks, axis=0)


def _compile(function):
  compiled = tf.function(function, autograph=False)
  return compiled.get_concrete_function(tf.TensorSpec([None], tf.int32))
