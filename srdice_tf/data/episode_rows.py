"""Episodes, the form that any source can give, and how they become rows."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

import numpy as np
from numpy import typing as npt

from srdice_tf import errors
from srdice_tf import memory
from srdice_tf.data import arrays


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
  """One episode of T steps, whole or cut.

  Attributes:
    observations: [T + 1, ...], the last one after the last step; single frames
      [T + 1, H, W] if `Dataset.from_episodes` is to stack them.
    actions: [T, A] floats, or [T] whole numbers from 0.
    rewards: [T].
    is_terminal: whether the last observation is a terminal state; False if the
      episode was cut there, by a time limit or for any other reason.
    log_probabilities: [T] of the actions under the policy that took them; None
      if they are not known.
  """

  observations: npt.ArrayLike
  actions: npt.ArrayLike
  rewards: npt.ArrayLike
  is_terminal: bool
  log_probabilities: npt.ArrayLike | None = None


def to_rows(episodes: Iterable[Episode]) -> dict[str, np.ndarray | None]:
  """Returns the arguments of `Dataset.from_rows`, without frame_stack.

  Raises:
    UserError: naming the first episode that is malformed or does not match the
      others.
  """
  episodes = [_checked(f'episode {i}', each) for i, each in enumerate(episodes)]
  if not episodes:
    raise errors.at('data set', 'there are no episodes')
  _check_alike(episodes)
  ends = np.cumsum([len(each.observations) for each in episodes])  # [m]
  step_types = np.full(ends[-1], arrays.MID)  # [R]
  step_types[ends - 1] = arrays.LAST
  step_types[0] = step_types[ends[:-1]] = arrays.FIRST
  not_done = np.ones(ends[-1], np.float32)  # [R]
  not_done[ends - 1] = [not each.is_terminal for each in episodes]
  log_probabilities = [each.log_probabilities for each in episodes]
  is_known = log_probabilities[0] is not None
  return {
      'rows': _joined([each.observations for each in episodes], ends),
      'step_types': step_types,
      'actions': _joined([each.actions for each in episodes], ends),
      'rewards': _joined([each.rewards for each in episodes], ends),
      'not_done': not_done,
      'log_probabilities': (
          _joined(log_probabilities, ends) if is_known else None
      ),
  }


def to_episodes(dataset) -> list[Episode]:
  """Returns the episodes of a `Dataset`; see `Dataset.to_episodes`."""
  rows, starts = dataset.observations.rows.numpy(), dataset.starts.numpy()
  sizes = np.bincount(dataset.episodes, minlength=len(starts))  # [m]
  ends = np.cumsum(sizes)
  _check_whole(dataset, starts, sizes)
  columns = dataset.actions, dataset.rewards, dataset.log_probabilities
  columns = [None if each is None else each.numpy() for each in columns]
  not_done = dataset.not_done.numpy()
  episodes = []
  for start, size, end in zip(starts, sizes, ends):
    if size:
      actions, rewards, log_probabilities = (
          None if each is None else each[end - size : end] for each in columns
      )
      episodes.append(Episode(
          rows[start : start + size + 1],
          actions,
          rewards,
          not not_done[end - 1],
          log_probabilities,
      ))
  return episodes


def _check_whole(dataset, starts: np.ndarray, sizes: np.ndarray):
  """Raises an error if the transitions are not all those of episodes."""
  first = np.cumsum(sizes) - sizes  # [m]
  steps = np.arange(sizes.sum()) - np.repeat(first, sizes)  # [n]
  ends_early = np.any(
      (dataset.not_done.numpy()[:-1] == 0) & (np.diff(dataset.episodes) == 0)
  )
  is_whole = np.array_equal(
      dataset.positions, np.repeat(starts, sizes) + steps
  )
  if ends_early or not is_whole:
    raise ValueError('the transitions are not those of whole episodes')


def _joined(parts: Sequence[np.ndarray], ends: np.ndarray) -> np.ndarray:
  """Returns the rows [R, ...] of what each episode has one part of.

  An episode of T steps has T + 1 rows. What a step brings is in the row that
  the step leads to, so the first row of an episode has zeros there.

  Args:
    parts: [T + 1, ...] or [T, ...] of each episode.
    ends: where the rows of each episode end.
  """
  dtype = np.result_type(*{part.dtype for part in parts})
  dtype = arrays.converted_type(dtype, parts[0].ndim)
  # TensorFlow uses this array without another copy: frames are gigabytes.
  joined = memory.aligned_empty((ends[-1], *parts[0].shape[1:]), dtype)
  begin = 0
  for part, end in zip(parts, ends):
    joined[begin : end - len(part)] = 0
    joined[end - len(part) : end] = part
    begin = end
  return joined


def _checked(where: str, episode: Episode) -> Episode:
  """Returns the episode with numpy arrays, whose lengths are checked."""
  if not isinstance(episode, Episode):
    raise errors.at(
        where, f'found {type(episode).__name__}', 'expected a data.Episode'
    )
  parts = {
      'observations': episode.observations,
      'actions': episode.actions,
      'rewards': episode.rewards,
      'log_probabilities': episode.log_probabilities,
  }
  parts = {
      name: arrays.numbers(name, part, 'fiub' if name == 'rewards' else 'fiu',
                           where)
      for name, part in parts.items()
      if part is not None
  }
  length = len(parts['observations']) - 1 if parts['observations'].ndim else 0
  if length < 1:
    raise errors.at(
        where,
        f'observations have the shape {parts["observations"].shape}',
        'expected two or more, one before each step and one after the last',
    )
  is_terminal = np.asarray(episode.is_terminal)
  if is_terminal.shape or is_terminal.tolist() not in (0, 1):  # As bools are.
    raise errors.at(
        where,
        f'is_terminal is {episode.is_terminal!r}',
        'expected True or False, for its last observation',
    )
  for name, part in parts.items():
    is_flat = name in ('rewards', 'log_probabilities')
    if name != 'observations' and (
        part.shape[:1] != (length,) or is_flat and part.ndim != 1
    ):
      raise errors.at(
          where,
          f'{name} have the shape {part.shape}',
          f'expected {length} of them, one less than observations',
      )
  return dataclasses.replace(episode, **parts)


def _check_alike(episodes: Sequence[Episode]):
  """Raises an error if an episode does not have the shapes of the first."""
  first = _shapes(episodes[0])
  for i, episode in enumerate(episodes):
    for name, shape in _shapes(episode).items():
      if shape != first[name]:
        raise errors.at(
            f'episode {i}',
            f'{name} are {shape}',
            f'those of episode 0 are {first[name]}',
        )


def _shapes(episode: Episode) -> dict[str, str]:
  """Returns what all episodes must have in common, as texts for messages."""
  is_known = episode.log_probabilities is not None
  return {
      'observations': f'of shape {episode.observations.shape[1:]}',
      'actions': f'of shape {episode.actions.shape[1:]}',
      'log_probabilities': 'known' if is_known else 'missing',
  }
