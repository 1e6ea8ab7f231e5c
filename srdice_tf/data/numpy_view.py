"""A data set as numpy arrays, by transition and by episode, for checks."""

import functools

import numpy as np

from srdice_tf.data import datasets


class NumpyView:
  """Arrays of a data set, without copies of what is large.

  Attributes:
    rows: [R, ...] observations, as the data set keeps them.
    positions: [n] the row of each transition's state.
    actions: [n, A] float32 or [n] int64.
    rewards: [n].
    not_done: [n].
    log_probabilities: [n] or None.
    begins: [m] the first transition of each episode that has one.
    ends: [m] the last one.
    lengths: [m] steps of each episode.
    terminal: [m] whether the episode ended in a terminal state.
    starts: [m] the row of each episode's start state.
    action_spec: with the bounds of the actions.
    bounds_known: whether the bounds are those of the source, not of the data.
  """

  def __init__(
      self, dataset: datasets.Dataset, action_spec=None, bounds_known=False
  ):
    """Keeps the arrays.

    Args:
      dataset: with one or more transitions.
      action_spec: of the actions, bounded.
      bounds_known: whether someone else than the data say so.
    """
    self.rows = dataset.observations.rows.numpy()
    self.has_frames = bool(dataset.observations.frame_stack) or (
        self.rows.ndim > 2 and self.rows.dtype == np.uint8
    )
    self.positions = dataset.positions.numpy()
    self.actions = dataset.actions.numpy()
    self.rewards = dataset.rewards.numpy()
    self.not_done = dataset.not_done.numpy()
    logged = dataset.log_probabilities
    self.log_probabilities = None if logged is None else logged.numpy()
    episodes = dataset.episodes.numpy()
    present, self.begins = np.unique(episodes, return_index=True)
    self.ends = np.append(self.begins[1:], len(episodes)) - 1
    self.lengths = self.ends - self.begins + 1
    self.terminal = self.not_done[self.ends] == 0
    self.starts = dataset.starts.numpy()[present]
    self.action_spec = action_spec
    self.bounds_known = bounds_known

  @property
  def size(self) -> int:
    """n, the number of transitions."""
    return len(self.positions)

  @property
  def num_episodes(self) -> int:
    return len(self.begins)

  @property
  def is_discrete(self) -> bool:
    """Whether actions are whole numbers."""
    return self.actions.ndim == 1

  @property
  def has_numbers(self) -> bool:
    """Whether observations are numbers to compute with: no frames, no ids."""
    return self.rows.dtype.kind == 'f'

  @functools.cached_property
  def columns(self) -> np.ndarray:
    """The observations [R, D]."""
    return self.rows.reshape(len(self.rows), -1)

  @functools.cached_property
  def action_columns(self) -> np.ndarray:
    """The actions [n, A], of discrete ones [n, 1]."""
    return self.actions.reshape(self.size, -1)

  @functools.cached_property
  def finite_rewards(self) -> np.ndarray:
    """The rewards [n] in float64, those that are not finite as zeros."""
    rewards = self.rewards.astype(np.float64)
    return np.where(np.isfinite(rewards), rewards, 0.0)

  @functools.cached_property
  def returns(self) -> np.ndarray:
    """The sums [m] of the rewards of each episode."""
    return np.add.reduceat(self.rewards.astype(np.float64), self.begins)

  def place(self, transition: int) -> str:
    """Returns the episode and the step of a transition, as a text."""
    episode = np.searchsorted(self.begins, transition, side='right') - 1
    step = transition - self.begins[episode]
    return f'the first is step {step:,} of episode {episode:,}'

  def transitions_at(self, rows: np.ndarray) -> np.ndarray:
    """Returns the transitions whose states are in these rows [K].

    A last observation is no transition's state: it has the step that leads to
    it.
    """
    found = np.searchsorted(self.positions, rows, side='right') - 1
    return np.unique(np.maximum(found, 0))
