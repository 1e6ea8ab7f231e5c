"""Puts the items of a TF-Agents table together into streams of steps.

`ReverbAddEpisodeObserver` writes an item for each episode.
`ReverbAddTrajectoryObserver` writes windows of one length, each of which begins
a few steps after the one before. An item does not say where it was taken from,
so windows are put together by the steps they have in common.
"""

from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from srdice_tf import errors
from srdice_tf.data import arrays

_ADVICE = (
    'write whole episodes with ReverbAddEpisodeObserver, or the steps with'
    ' TFRecordObserver'
)


class SequenceChains:
  """Steps of all items, each kept once, and which one follows which."""

  def __init__(self, step_types: int, where: str):
    """Has no items yet.

    Args:
      step_types: the place of the step types among an item's columns.
      where: what errors call the table.
    """
    self._place = step_types
    self._where = where
    self._dtype = None  # Of a whole step.
    self._numbers = {}  # Of each step, by its bytes.
    self._types = []  # By number.
    self._items = []  # Numbers of the steps of each.

  def add(self, columns: Sequence[np.ndarray]):
    """Adds an item.

    Args:
      columns: [T, ...] each.

    Raises:
      UserError: if they are not as those of the other items.
    """
    lengths = {column.shape[:1] for column in columns}
    dtype = np.dtype([
        (f'{i}', column.dtype, column.shape[1:])
        for i, column in enumerate(columns)
    ])
    self._dtype = self._dtype or dtype
    if len(lengths) > 1 or dtype != self._dtype:
      shapes = ', '.join(f'{each.dtype}{[*each.shape]}' for each in columns)
      raise errors.at(
          self._where,
          f'an item has columns {shapes}',
          'expected as many steps in each, and all items alike',
      )
    steps = np.empty(*lengths, dtype)  # [T]
    for i, column in enumerate(columns):
      steps[f'{i}'] = column
    types = columns[self._place].tolist()
    self._items.append(
        [self._number(step.tobytes(), kind) for step, kind in zip(steps, types)]
    )

  def _number(self, step: bytes, step_type: int) -> int:
    number = self._numbers.setdefault(step, len(self._numbers))
    if number == len(self._types):
      self._types.append(step_type)
    return number

  def streams(self) -> Iterator[list[np.ndarray]]:
    """Yields streams of steps, each as columns [N, ...].

    They come in an order of their contents, since a table has none: the same
    items give the same streams.

    Raises:
      UserError: if windows cannot be put together.
    """
    parts = [list(self._pieces(item)) for item in self._items]
    pieces = [piece for part in parts for piece in part]
    if all(len(item) == 1 for item in self._items):
      raise errors.at(
          self._where,
          'its items have one step each, without the observation after it',
          'expected sequences of 2 steps or more',
      )
    if self._are_windows(parts):
      self._check_once()
      pieces = self._chained(pieces)
    steps = list(self._numbers)  # By number.
    pieces = sorted([steps[number] for number in piece] for piece in pieces)
    for piece in pieces:
      found = np.frombuffer(b''.join(piece), self._dtype)  # [N]
      yield [found[name] for name in self._dtype.names]

  def _pieces(self, item: list[int]) -> Iterator[list[int]]:
    """Yields the parts of an item that belong to one episode each.

    After the last step of an episode come steps of zeros that fill an item up,
    which have the type LAST as well, or the next episode.
    """
    begin = 0
    for i, number in enumerate(item, 1):
      if self._types[number] == arrays.LAST:
        if i - begin > 1:
          yield item[begin:i]
        begin = i
    if len(item) - begin > 1:
      yield item[begin:]

  def _are_windows(self, parts: Sequence[list[list[int]]]) -> bool:
    """Whether items are windows of longer streams, all of one length.

    Args:
      parts: the pieces of each item.
    """
    is_start = lambda piece: self._types[piece[0]] == arrays.FIRST
    lengths = {len(item) for item in self._items}
    return len(self._items) > 1 == len(lengths) and not all(
        len(pieces) < 2 and all(map(is_start, pieces)) for pieces in parts
    )

  def _check_once(self):
    """Raises an error if two windows are equal: where they go is not known."""
    count = len(self._items) - len(set(map(tuple, self._items)))
    if count:
      raise self._cannot(f'{count:,} items are equal to others')

  def _chained(self, pieces: Sequence[list[int]]) -> list[list[int]]:
    """Returns the numbers of the steps of each stream."""
    after, before = {}, {}
    for piece in pieces:
      for one, other in zip(piece, piece[1:]):
        if after.setdefault(one, other) != other or (
            before.setdefault(other, one) != one
        ):
          raise self._cannot('equal steps are followed by different ones')
    known = dict.fromkeys(number for piece in pieces for number in piece)
    return [
        self._chain(number, after) for number in known if number not in before
    ]

  def _chain(self, number: int, after: dict[int, int]) -> list[int]:
    chain = [number]
    while chain[-1] in after:
      chain.append(after[chain[-1]])
    return chain

  def _cannot(self, found: str) -> errors.UserError:
    return errors.at(
        self._where,
        f'its sequences cannot be put together: {found}, as where states are'
        ' few',
        _ADVICE,
    )
