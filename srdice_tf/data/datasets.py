"""Logged data as tensors that a compiled training loop can sample from."""

from collections.abc import Iterable
import dataclasses
import hashlib

import numpy as np
import tensorflow as tf

from srdice_tf.data import arrays
from srdice_tf.data import batches
from srdice_tf.data import episode_rows
from srdice_tf.data import stacking


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
  """Transitions and start states in memory.

  Each observation is kept once, as a row, in the order of time: a transition is
  a row and the next one, a stack of frames is a row and the ones before it.
  Make one with `from_episodes` or `from_rows`.

  Attributes:
    observations: the R rows.
    positions: [n] int32, the row of each transition's state.
    starts: [m] int32, the row of each episode's start state.
    actions: [n, A] float32 or [n] int64.
    rewards: [n] float32.
    not_done: [n] float32, 0 where the transition ends in a terminal state.
    episodes: [n] int32, the number of the transition's episode, from 0 to m-1.
    steps: [n] int32, the step of the transition in its episode.
    log_probabilities: [n] float32, of the actions under the behaviour policy;
      None if they are not known.
  """

  observations: stacking.Observations
  positions: tf.Tensor
  starts: tf.Tensor
  actions: tf.Tensor
  rewards: tf.Tensor
  not_done: tf.Tensor
  episodes: tf.Tensor
  steps: tf.Tensor
  log_probabilities: tf.Tensor | None = None

  @classmethod
  def from_episodes(
      cls, episodes: Iterable[episode_rows.Episode], frame_stack: int = 0
  ) -> 'Dataset':
    """Returns the data set of these episodes.

    Args:
      episodes: in any order; transitions are kept in that order.
      frame_stack: K, if observations are stacks of the last K frames and the
        episodes hold single frames [T + 1, H, W]; 0 if they hold observations.

    Raises:
      UserError: naming the first episode that is malformed or does not match
        the others.
    """
    rows = episode_rows.to_rows(episodes)
    return cls.from_rows(**rows, frame_stack=frame_stack)

  @classmethod
  def from_rows(
      cls,
      rows: np.ndarray,
      step_types: np.ndarray,
      actions: np.ndarray,
      rewards: np.ndarray,
      not_done: np.ndarray,
      frame_stack: int = 0,
      log_probabilities: np.ndarray | None = None,
  ) -> 'Dataset':
    """Returns the data set of rows: what came with each observation.

    Args:
      rows: [R, ...] observations, or frames [R, H, W], each episode's in the
        order of time, one episode after the other. They are not copied, so
        they must not be changed afterwards.
      step_types: [R] FIRST (0), MID or LAST of each row.
      actions: [R, A] or [R], the action that led to each row.
      rewards: [R] the reward that came with it.
      not_done: [R] the discount that came with it.
      frame_stack: frames in an observation; 0 if a row is an observation.
      log_probabilities: [R] of the action that led to each row.

    Raises:
      UserError: if the arrays do not hold numbers, or rows are not episodes.
    """
    rows, step_types, actions, rewards, not_done, log_probabilities = (
        arrays.checked(
            rows, step_types, actions, rewards, not_done, log_probabilities
        )
    )
    is_first = step_types == arrays.FIRST
    arrivals = np.flatnonzero(~is_first)  # [n]
    starts = np.flatnonzero(is_first)  # [m]
    episodes = np.cumsum(is_first) - 1  # [R]
    ages = np.arange(len(rows)) - starts[episodes]  # [R]
    floats = lambda values: tf.constant(values[arrivals], tf.float32)  # [n]
    return cls(
        observations=stacking.Observations(rows, ages, frame_stack),
        positions=tf.constant(arrivals - 1, tf.int32),
        starts=tf.constant(starts, tf.int32),
        actions=tf.constant(actions[arrivals]),
        rewards=floats(rewards),
        not_done=floats(not_done),
        episodes=tf.constant(episodes[arrivals], tf.int32),
        steps=tf.constant(ages[arrivals] - 1, tf.int32),
        log_probabilities=(
            None if log_probabilities is None else floats(log_probabilities)
        ),
    )

  def to_episodes(self) -> list[episode_rows.Episode]:
    """Returns the episodes that `from_episodes` would make these data of.

    Their arrays are views of the data, single frames where frames are stacked.
    An episode of which only the start state is known is left out.

    Raises:
      ValueError: if transitions are missing, as in `thinned` data.
    """
    return episode_rows.to_episodes(self)

  @property
  def num_transitions(self) -> int:
    return len(self.positions)

  @property
  def num_initial_states(self) -> int:
    """m, the number of episodes."""
    return len(self.starts)

  def of_episodes(self, episodes: np.ndarray) -> 'Dataset':
    """Returns the data of these episodes only, numbered from 0 in order.

    Observations are shared, not copied.

    Args:
      episodes: their numbers, ascending.
    """
    is_kept = np.isin(self.episodes, episodes)  # [n]
    kept = tf.constant(np.flatnonzero(is_kept))
    part = self._with_columns(lambda column: tf.gather(column, kept))
    numbers = np.searchsorted(episodes, self.episodes.numpy()[is_kept])
    return dataclasses.replace(
        part,
        episodes=tf.constant(numbers, tf.int32),
        starts=tf.gather(self.starts, episodes),
    )

  def thinned(self, every: int) -> 'Dataset':
    """Returns every k-th transition, from the first on, and all episodes.

    Observations are shared, not copied.
    """
    return self._with_columns(lambda column: column[::every])

  def _with_columns(self, function) -> 'Dataset':
    """Returns a data set with function(column) for each column [n, ...]."""
    names = (
        'positions', 'actions', 'rewards', 'not_done', 'episodes', 'steps',
        'log_probabilities',
    )
    columns = {name: getattr(self, name) for name in names}
    return dataclasses.replace(self, **{
        name: None if column is None else function(column)
        for name, column in columns.items()
    })

  def checksum(self) -> str:
    """Returns a hash of all contents; other data have another one."""
    digest = hashlib.sha256(f'stack {self.observations.frame_stack}'.encode())
    # Run directories keep this hash, so the names in it must not change.
    contents = {
        '_rows': self.observations.rows,
        '_positions': self.positions,
        '_starts': self.starts,
        'actions': self.actions,
        'rewards': self.rewards,
        'not_done': self.not_done,
        'log_probabilities': self.log_probabilities,
    }
    for name, values in contents.items():
      if values is not None:
        digest.update(f'{name} {values.dtype.name} {values.shape}'.encode())
        digest.update(memoryview(values))  # Without a copy.
    return digest.hexdigest()

  def states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the states [B, ...] of the transitions `index` [B]."""
    return self.observations.at(tf.gather(self.positions, index))

  def next_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the next states [B, ...] of the transitions `index` [B]."""
    return self.observations.at(tf.gather(self.positions, index) + 1)

  def initial_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the start states [B, ...] of the episodes `index` [B]."""
    return self.observations.at(tf.gather(self.starts, index))

  def batch(self, index: tf.Tensor) -> batches.TransitionBatch:
    """Returns the transitions `index` [B]."""
    return batches.TransitionBatch(
        states=self.states(index),
        actions=tf.gather(self.actions, index),
        rewards=tf.gather(self.rewards, index),
        next_states=self.next_states(index),
        not_done=tf.gather(self.not_done, index),
        index=index,
    )

  def sample(
      self, batch_size: int, rng: tf.random.Generator
  ) -> batches.TransitionBatch:
    """Returns transitions drawn uniformly with replacement."""
    return self.batch(
        rng.uniform([batch_size], 0, self.num_transitions, tf.int32)
    )

  def sample_initial(
      self, batch_size: int, rng: tf.random.Generator
  ) -> batches.InitialBatch:
    """Returns start states drawn uniformly with replacement."""
    index = rng.uniform([batch_size], 0, self.num_initial_states, tf.int32)
    return batches.InitialBatch(self.initial_states(index), index)
