"""The problem that estimators solve, where the data do not fit the memory."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.estimators import problems

_INTERIM_SIZE = 10_000  # Transitions of an estimate during training.


class StreamedProblem(problems.Problem):
  """A problem whose transitions come block by block.

  Minibatches are drawn from a window of blocks that are replaced as they are
  used. A pass loads one block after the other: `loaded` is the problem of the
  block that is there, and what is computed of it goes to a file that is mapped
  into memory.
  """

  def __init__(self, stream, actions, inputs, gamma, mdp=None):
    """Computes the parameters of the target policy at the start states.

    Args:
      stream: data.streamed.StreamedDataset.
      actions: policies.actions.TargetActions of the target policy.
      inputs: as for a Problem.
      gamma: discount.
      mdp: the MDP itself, where it is finite and known.

    Raises:
      UserError: if the policy gives NaN or impossible actions there.
    """
    if actions.is_of_data:
      raise errors.UserError(
          'stream', True, 'a file of target actions needs all data in memory'
      )
    self._stream = stream
    self._on_load = []
    self._thin = {}
    self._window = stream.sampler()
    super().__init__(
        self._window, actions, inputs, gamma, cache=False, mdp=mdp
    )
    self._block = stream.loaded()
    self._loaded = problems.Problem(
        self._block, actions, inputs, gamma, cache=False, mdp=mdp
    )
    self.size = stream.num_transitions
    self.num_starts = stream.num_initial_states
    self.rewards, self.not_done = stream.rewards, stream.not_done
    self.episodes, self.steps = stream.episodes, stream.steps
    self._start = self.map_rows(self.start_parameters, self.num_starts)
    actions.check(self._start)

  @property
  def is_streamed(self) -> bool:
    return True

  @property
  def loaded(self) -> problems.Problem:
    return self._loaded

  @property
  def interim_size(self) -> int:
    return min(self.inputs.interim_size, _INTERIM_SIZE)

  def guard(self):
    return self._window.guard()

  @property
  def logged_actions(self) -> tf.Tensor:
    """[n, ...] the actions of the data, as logged; by a pass."""
    return self.over_transitions(
        lambda index: tf.gather(self.loaded.logged_actions, index)
    )()

  @logged_actions.setter
  def logged_actions(self, unused_actions):
    """Ignores those of the window, which the base class sets."""

  def on_load(self, function: Callable[[int], None]):
    """Calls a function with the number of each block that is loaded."""
    self._on_load.append(function)

  def passing(self, chunk_size):
    for block in self._stream.each_block():
      self._block.put(self._stream.form.pad(block))
      for function in self._on_load:
        function(block.number)
      for begin in range(0, block.size, chunk_size):
        rows = block.index[begin : begin + chunk_size]
        yield tf.range(begin, begin + len(rows)), rows

  def over_transitions(self, function):
    compiled = problems.by_index(function)

    def compute():
      found = None
      for index, rows in self.passing(self.inputs.chunk_size):
        part = compiled(index).numpy()
        if found is None:
          shape = self.size, *part.shape[1:]
          found = self._stream.scratch.empty(shape, part.dtype)
        found[rows] = part
      return memory.as_tensor(found)

    return compute

  def at(self, function):
    everywhere = self.over_data(function)
    return lambda index: tf.gather(everywhere(), index)

  def thinned(self, size):
    every = max(-(-self.size // size), 1)
    if every not in self._thin:
      self._thin[every] = problems.Problem(
          self._stream.thinned(every), self.actions, self.inputs, self.gamma,
          mdp=self.mdp,
      )
    return self._thin[every], every

  def of_episodes(self, episodes: np.ndarray):
    return StreamedProblem(
        self._stream.of_episodes(episodes), self.actions, self.inputs,
        self.gamma, self.mdp,
    )
