"""What is in logged data: sizes, lengths, returns and ranges."""

import dataclasses

import numpy as np

from srdice_tf.data import numpy_view


@dataclasses.dataclass(frozen=True)
class Spread:
  """Where some numbers lie; those that are not finite are left out.

  Attributes:
    name: what they are.
    smallest: of them.
    mean: of them.
    largest: of them.
    deviation: their standard deviation.
  """

  name: str
  smallest: float
  mean: float
  largest: float
  deviation: float

  @property
  def is_constant(self) -> bool:
    return self.smallest == self.largest


@dataclasses.dataclass(frozen=True)
class DataSummary:
  """What is in data.

  Attributes:
    num_transitions: of all episodes.
    num_episodes: that have a step.
    num_terminal: episodes that end in a terminal state; others were cut.
    observations: type and shape of one, such as float32[11].
    actions: type and shape of one.
    has_log_probabilities: whether those of the behaviour policy are there.
    episodes: spreads of lengths and returns.
    columns: spreads of rewards, actions and observations; of frames one.
    action_counts: how often each discrete action was taken, else empty.
  """

  num_transitions: int
  num_episodes: int
  num_terminal: int
  observations: str
  actions: str
  has_log_probabilities: bool
  episodes: tuple[Spread, ...]
  columns: tuple[Spread, ...]
  action_counts: tuple[int, ...]


def summary_of(view: numpy_view.NumpyView) -> DataSummary:
  """Returns what is in data."""
  counts = ()
  if view.is_discrete:
    counts = tuple(np.bincount(np.maximum(view.actions, 0)).tolist())
  columns = [_spread('reward', view.rewards)]
  if not view.is_discrete:
    columns += _columns('action', view.action_columns)
  if view.has_frames or view.rows.dtype.kind != 'f':
    columns.append(_spread('observation', view.rows))
  else:
    columns += _columns('observation', view.columns)
  return DataSummary(
      num_transitions=view.size,
      num_episodes=view.num_episodes,
      num_terminal=int(view.terminal.sum()),
      observations=_kind(view.rows),
      actions=_kind(view.actions),
      has_log_probabilities=view.log_probabilities is not None,
      episodes=(
          _spread('length', view.lengths),
          _spread('return', view.returns),
      ),
      columns=tuple(columns),
      action_counts=counts,
  )


def _columns(name: str, values: np.ndarray) -> list[Spread]:
  """Returns the spread of each column of [N, D]."""
  if values.shape[1] == 1:
    return [_spread(name, values[:, 0])]
  return [_spread(f'{name} {j}', column) for j, column in enumerate(values.T)]


def _spread(name: str, values: np.ndarray) -> Spread:
  if values.dtype.kind == 'f':
    values = values[np.isfinite(values)]
  if not values.size:
    return Spread(name, *[float('nan')] * 4)
  mean = values.mean(dtype=np.float64)
  if values.nbytes > 2**28:  # Frames: gigabytes, whose spread nobody asks for.
    deviation = float('nan')
  else:
    deviation = values.std(dtype=np.float64)
  numbers = values.min(), mean, values.max(), deviation
  return Spread(name, *map(float, numbers))


def _kind(values: np.ndarray) -> str:
  return f'{values.dtype.name}{list(values.shape[1:])}'
