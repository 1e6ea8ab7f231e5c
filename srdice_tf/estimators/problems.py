"""The problem that estimators solve: data, target policy and discount.

The parameters of the target policy's action distribution at all next and start
states do not change, so they are computed here once.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import finite
from srdice_tf import memory
from srdice_tf.networks import frame_networks
from srdice_tf.networks import vector_inputs

_CHUNK = 8192


class Transitions(NamedTuple):
  """A minibatch, with fresh actions of the target policy at s'.

  Attributes:
    index: [B] rows of the data set.
    inputs: (s, a) as networks take it: [B, S + A], or FrameActions.
    rewards: [B].
    not_done: [B].
    next_states: [B, S] s' as vectors, or frames [B, H, W, K].
    next_inputs: (s', a') with a' ~ pi(s'), or with all actions weighted by
      their probabilities.
  """

  index: tf.Tensor
  inputs: vector_inputs.Inputs
  rewards: tf.Tensor
  not_done: tf.Tensor
  next_states: tf.Tensor
  next_inputs: vector_inputs.Inputs


class Problem:
  """The evaluation of a target policy with discount gamma from logged data.

  It is the only way by which estimators reach the data.

  Attributes:
    actions: policies.actions.TargetActions of the target policy.
    inputs: how states and actions become what the networks take.
    gamma: discount.
    mdp: the MDP itself, where it is finite and known; else None.
    size: n, the number of transitions.
    num_starts: m, the number of start states.
    rewards: [n] float32.
    not_done: [n] float32, 0 where the transition ends in a terminal state.
    episodes: [n] the number of each transition's episode.
    steps: [n] the step of each transition in its episode.
    logged_actions: [n, ...] the actions of the data, as logged.
  """

  def __init__(
      self,
      dataset,
      actions,
      inputs: vector_inputs.VectorInputs | frame_networks.FrameInputs,
      gamma: float,
      cache: bool = True,
      mdp: finite.FiniteMDP | None = None,
  ):
    """Computes the parameters of the target policy over the data.

    Args:
      dataset: replay.Dataset.
      actions: policies.actions.TargetActions of the target policy.
      inputs: how states and actions become what the networks take, and the
        networks themselves.
      gamma: discount.
      cache: whether to keep the parameters; else they are computed again for
        each minibatch, with the same result.
      mdp: the MDP itself, where it is finite and known.

    Raises:
      UserError: if the policy gives NaN or impossible actions on the data.
    """
    self._dataset = dataset
    self.actions = actions
    self.inputs = inputs
    self.gamma = gamma
    self.mdp = mdp
    self.size = dataset.num_transitions
    self.num_starts = dataset.num_initial_states
    self.rewards = dataset.rewards
    self.not_done = dataset.not_done
    self.episodes = dataset.episodes
    self.steps = dataset.steps
    self.logged_actions = dataset.actions
    # Networks that are linear in the action's weights take all actions at
    # once: the expectation is exact.
    self._is_exact = (
        inputs.linear_in_actions and actions.parameters_are_probabilities
    )
    self._next, self._start = None, None
    if cache:
      self._next = self.map_rows(self.next_parameters, self.size)
      self._start = self.map_rows(self.start_parameters, self.num_starts)
      for parameters in (self._next, self._start):
        actions.check(parameters)

  @property
  def is_streamed(self) -> bool:
    """Whether the data come block by block, see `streamed_problems`."""
    return False

  @property
  def loaded(self) -> 'Problem':
    """What the numbers that `passing` yields are of: here, this problem."""
    return self

  @property
  def interim_size(self) -> int:
    """Transitions of an estimate during training, if all take long."""
    return self.inputs.interim_size

  def guard(self):
    """Returns a context for what takes minibatches of the problem."""
    return contextlib.nullcontext()

  def on_load(self, function: Callable[[int], None]):
    """Does nothing: all data are loaded."""
    del function

  @property
  def has_vectors(self) -> bool:
    """Whether (s, a) are vectors, not frames."""
    return self.inputs.has_vectors

  def states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the states [B, ...] of the transitions `index`, as logged."""
    return self._dataset.states(index)

  def next_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the next states [B, ...] of the transitions `index`."""
    return self._dataset.next_states(index)

  def start_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the start states [B, ...] of the episodes `index`."""
    return self._dataset.initial_states(index)

  def episodes_at(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the episodes [B] of the transitions `index` of a minibatch."""
    return tf.gather(self._dataset.episodes, index)

  def sample_logged(self, batch_size: int, rng: tf.random.Generator):
    """Returns transitions drawn uniformly, states and actions as logged."""
    return self._dataset.sample(batch_size, rng)

  def thinned(self, size: int) -> tuple['Problem', int]:
    """Returns the problem with at most `size` transitions, evenly spaced.

    Returns:
      The problem, and k if it has every k-th transition: [::k].
    """
    every = -(-self.size // size)
    if every == 1:
      return self, 1
    dataset = self._dataset.thinned(every)
    thin = Problem(dataset, self.actions, self.inputs, self.gamma, mdp=self.mdp)
    return thin, every

  def of_episodes(self, episodes) -> 'Problem':
    """Returns the problem of these episodes only; see `Dataset`."""
    dataset = self._dataset.of_episodes(episodes)
    return Problem(dataset, self.actions, self.inputs, self.gamma, mdp=self.mdp)

  def next_parameters(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the target policy's parameters at s' of `index`."""
    if self._next is not None:
      return tf.gather(self._next, index)
    return self.actions.next_parameters(self._dataset, index)

  def start_parameters(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the target policy's parameters at the start states `index`."""
    if self._start is not None:
      return tf.gather(self._start, index)
    return self.actions.start_parameters(self._dataset, index)

  def _draw(self, parameters, rng) -> tf.Tensor:
    """Returns actions [B, ...] of the target policy, or probabilities."""
    if self._is_exact:
      return parameters  # [B, A]
    return self.actions.sample(parameters, rng)

  def state_actions(self, index: tf.Tensor) -> vector_inputs.Inputs:
    """Returns (s, a) of the transitions `index`."""
    actions = tf.gather(self._dataset.actions, index)
    return self.inputs(self._dataset.states(index), actions)

  def sample(self, batch_size: int, rng: tf.random.Generator) -> Transitions:
    """Returns transitions drawn uniformly, with fresh next actions."""
    batch = self._dataset.sample(batch_size, rng)
    parameters = self.next_parameters(batch.index)
    next_actions = self._draw(parameters, rng)
    return Transitions(
        index=batch.index,
        inputs=self.inputs(batch.states, batch.actions),
        rewards=batch.rewards,
        not_done=batch.not_done,
        next_states=self.inputs.states(batch.next_states),
        next_inputs=self.inputs(batch.next_states, next_actions),
    )

  def next_inputs(self, index: tf.Tensor, rng) -> vector_inputs.Inputs:
    """Returns (s', a') of the transitions `index`, a' ~ pi(s')."""
    actions = self._draw(self.next_parameters(index), rng)
    return self.inputs(self._dataset.next_states(index), actions)

  def start_inputs(self, index: tf.Tensor, rng) -> vector_inputs.Inputs:
    """Returns (s0, a0) of the start states `index`, a0 ~ pi(s0)."""
    actions = self._draw(self.start_parameters(index), rng)
    return self.inputs(self._dataset.initial_states(index), actions)

  def sample_starts(self, batch_size: int, rng) -> vector_inputs.Inputs:
    """Returns (s0, a0), a0 ~ pi(s0), s0 drawn uniformly."""
    batch = self._dataset.sample_initial(batch_size, rng)
    return self.start_inputs(batch.index, rng)

  def start_pool(self, size: int, rng) -> vector_inputs.Inputs:
    """Returns about `size` pairs (s0, a0), each start state equally often.

    If expectations over actions are exact, each start state is there once.
    """
    repeats = 1 if self._is_exact else max(1, -(-size // self.num_starts))
    index = tf.tile(tf.range(self.num_starts), [repeats])  # [P]
    return self.start_inputs(index, rng)

  def over_data(
      self, function: Callable[[vector_inputs.Inputs], tf.Tensor]
  ) -> Callable[[], tf.Tensor]:
    """Returns a function that computes function((s, a)) of all, [n, ...]."""
    return self.over_transitions(
        lambda index: function(self.loaded.state_actions(index))
    )

  def over_transitions(
      self, function: Callable[[tf.Tensor], tf.Tensor]
  ) -> Callable[[], tf.Tensor]:
    """Returns a function that computes function(index) of all, [n, ...].

    Args:
      function: of numbers [B] of transitions of `loaded`; it is compiled.
    """
    compiled = by_index(function)
    return lambda: map_chunks(compiled, self.size, self.inputs.chunk_size)

  def passing(self, chunk_size: int) -> Iterator[tuple[tf.Tensor, np.ndarray]]:
    """Passes over the data: yields each transition once, in chunks.

    Args:
      chunk_size: the most transitions at a time.

    Yields:
      Their numbers [B] in `loaded`, and in the whole problem.
    """
    for index in chunks(self.size, chunk_size):
      yield index, index.numpy()

  def at(
      self, function: Callable[[vector_inputs.Inputs], tf.Tensor]
  ) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function of indices [N] that computes function((s, a))."""
    compiled = by_index(
        lambda index: function(self.state_actions(index))
    )
    return lambda index: map_chunks(
        lambda part: compiled(tf.gather(index, part)),
        index.shape[0],
        self.inputs.chunk_size,
    )

  def map_inputs(self, function, inputs: vector_inputs.Inputs) -> tf.Tensor:
    """Returns function(inputs), computed in chunks."""
    return map_chunks(
        lambda index: function(
            tf.nest.map_structure(lambda part: tf.gather(part, index), inputs)
        ),
        tf.nest.flatten(inputs)[0].shape[0],
        self.inputs.chunk_size,
    )

  def map_rows(self, function, size: int) -> tf.Tensor:
    """Returns function(index) for index 0..size-1, compiled, in chunks."""
    return map_chunks(by_index(function), size, self.inputs.chunk_size)


def concat(parts: list[vector_inputs.Inputs]) -> vector_inputs.Inputs:
  """Returns the pairs (s, a) of all parts, one part after the other."""
  return tf.nest.map_structure(lambda *x: tf.concat(x, 0), *parts)


def map_chunks(
    function: Callable[[tf.Tensor], tf.Tensor],
    size: int,
    chunk_size: int = _CHUNK,
) -> tf.Tensor:
  """Returns function(index) for index 0..size-1, computed in chunks."""
  return memory.concat((function(i) for i in chunks(size, chunk_size)), size)


def chunks(size: int, chunk_size: int = _CHUNK) -> Iterator[tf.Tensor]:
  """Yields 0..size-1 in pieces [B]."""
  for begin in range(0, size, chunk_size):
    yield tf.range(begin, min(begin + chunk_size, size))


def by_index(function):
  """Returns a compiled function of rows [B], whatever their number."""
  compiled = tf.function(function, autograph=False)
  return compiled.get_concrete_function(tf.TensorSpec([None], tf.int32))
