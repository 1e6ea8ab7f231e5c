"""Logged data as tensors that a compiled training loop can sample from."""

import copy
import hashlib

import numpy as np
import tensorflow as tf

from srdice_tf import memory
from srdice_tf import types
from srdice_tf.replay import arrays


class Dataset(tf.Module):
  """Transitions and start states in memory.

  Observations are kept once, as rows in the order of time: a transition is a
  row and the one behind it, a stack of frames is the row and those before it.

  Attributes:
    num_transitions: n.
    num_initial_states: m, the number of episodes.
    actions: [n, A] float32 or [n] int64.
    rewards: [n] float32.
    not_done: [n] float32, 0 where the transition ends in a terminal state.
    episodes: [n] int32, the number of the transition's episode, from 0 to m-1,
      the row of its start state.
    steps: [n] int32, the step of the transition in its episode.
  """

  def __init__(
      self,
      rows: np.ndarray,
      step_types: np.ndarray,
      actions: np.ndarray,
      rewards: np.ndarray,
      not_done: np.ndarray,
      frame_stack: int = 0,
  ):
    """Builds the data set from the rows of all environments.

    Args:
      rows: [R, ...] observations, or frames [R, H, W], each environment's in
        the order of time, one environment behind the other. Gigabytes are
        not copied: they must not be changed afterwards.
      step_types: [R] FIRST (0), MID or LAST of each row.
      actions: [R, A] or [R], the action that led to each row.
      rewards: [R] the reward that came with it.
      not_done: [R] the discount that came with it.
      frame_stack: frames in an observation, 0 if a row is one.

    Raises:
      UserError: if the arrays are no numbers or no episodes.
    """
    super().__init__(name='dataset')
    rows, step_types, actions, rewards, not_done = arrays.checked(
        rows, step_types, actions, rewards, not_done
    )
    is_first = step_types == 0
    arrivals = np.flatnonzero(~is_first)  # [n]
    starts = np.flatnonzero(is_first)  # [m]
    episodes = np.cumsum(is_first) - 1  # [R]
    ages = np.arange(len(rows)) - starts[episodes]  # [R]
    self._rows = memory.as_tensor(rows)
    self._ages = tf.constant(ages, tf.int32)  # [R]
    self._positions = tf.constant(arrivals - 1, tf.int32)  # [n]
    self._starts = tf.constant(starts, tf.int32)  # [m]
    self._frame_stack = frame_stack
    self.num_transitions = len(arrivals)
    self.num_initial_states = len(starts)
    self.actions = tf.constant(actions[arrivals])  # [n, A] or [n]
    self.rewards = tf.constant(rewards[arrivals], tf.float32)  # [n]
    self.not_done = tf.constant(not_done[arrivals], tf.float32)  # [n]
    self.episodes = tf.constant(episodes[arrivals], tf.int32)  # [n]
    self.steps = tf.constant(ages[arrivals] - 1, tf.int32)  # [n]

  def of_episodes(self, episodes: np.ndarray) -> 'Dataset':
    """Returns the part that these episodes are, numbered from 0 in order.

    Observations are shared, not copied.

    Args:
      episodes: their numbers, ascending.
    """
    part = copy.copy(self)
    is_kept = np.isin(self.episodes, episodes)  # [n]
    kept = tf.constant(np.flatnonzero(is_kept))
    for name in ('_positions', 'actions', 'rewards', 'not_done', 'steps'):
      setattr(part, name, tf.gather(getattr(self, name), kept))
    numbers = np.searchsorted(episodes, self.episodes.numpy()[is_kept])
    part.episodes = tf.constant(numbers, tf.int32)
    part._starts = tf.gather(self._starts, episodes)
    part.num_transitions = int(is_kept.sum())
    part.num_initial_states = len(episodes)
    return part

  def checksum(self) -> str:
    """Returns a hash of all contents: what tells two data sets apart."""
    digest = hashlib.sha256(f'stack {self._frame_stack}'.encode())
    names = '_rows', '_positions', '_starts', 'actions', 'rewards', 'not_done'
    for name in names:
      values = getattr(self, name)
      digest.update(f'{name} {values.dtype.name} {values.shape}'.encode())
      digest.update(memoryview(values))  # In place: gigabytes are not copied.
    return digest.hexdigest()

  def thinned(self, every: int) -> 'Dataset':
    """Returns each so-manyth transition, from the first on; all episodes.

    Observations are shared, not copied.
    """
    part = copy.copy(self)
    names = '_positions', 'actions', 'rewards', 'not_done', 'episodes', 'steps'
    for name in names:
      setattr(part, name, getattr(self, name)[::every])
    part.num_transitions = -(-self.num_transitions // every)
    return part

  def states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the states [B, ...] of the transitions `index` [B]."""
    return self._observations(tf.gather(self._positions, index))

  def next_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the next states [B, ...] of the transitions `index` [B]."""
    return self._observations(tf.gather(self._positions, index) + 1)

  def initial_states(self, index: tf.Tensor) -> tf.Tensor:
    """Returns the start states [B, ...] of the episodes `index` [B]."""
    return self._observations(tf.gather(self._starts, index))

  def batch(self, index: tf.Tensor) -> types.Batch:
    """Returns the transitions `index` [B]."""
    return types.Batch(
        states=self.states(index),
        actions=tf.gather(self.actions, index),
        rewards=tf.gather(self.rewards, index),
        next_states=self.next_states(index),
        not_done=tf.gather(self.not_done, index),
        index=index,
    )

  def sample(self, batch_size: int, rng: tf.random.Generator) -> types.Batch:
    """Returns transitions drawn uniformly with replacement."""
    return self.batch(
        rng.uniform([batch_size], 0, self.num_transitions, tf.int32)
    )

  def sample_initial(
      self, batch_size: int, rng: tf.random.Generator
  ) -> types.InitialBatch:
    """Returns start states drawn uniformly with replacement."""
    index = rng.uniform([batch_size], 0, self.num_initial_states, tf.int32)
    return types.InitialBatch(self.initial_states(index), index)

  def _observations(self, positions: tf.Tensor) -> tf.Tensor:
    if not self._frame_stack:
      return tf.gather(self._rows, positions)  # [B, ...]
    back = tf.range(self._frame_stack - 1, -1, -1)  # [K]
    frames = tf.gather(  # [B, K, H, W]
        self._rows, tf.maximum(positions[:, None] - back, 0)
    )
    # Frames from before the episode's start are zeros.
    exists = back <= tf.gather(self._ages, positions)[:, None]  # [B, K]
    frames *= tf.cast(exists, frames.dtype)[:, :, None, None]
    return tf.transpose(frames, [0, 2, 3, 1])  # [B, H, W, K]
