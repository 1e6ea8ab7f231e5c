"""What a check of logged data has found, and at which rows."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

ERROR, WARNING = 'error', 'warning'
SHOWN_ROWS = 5


class DataFinding(NamedTuple):
  """One thing to know about data before they are evaluated.

  Attributes:
    name: of the check, by which a user can accept what it finds.
    severity: ERROR if an evaluation would be wrong, or WARNING.
    text: in plain words, with what to do about it.
    rows: the transitions that it is about, counted from 0, in their order; for
      users the rows of the source; none if it is about all of them.
    first: where the first of them is, by episode and step.
  """

  name: str
  severity: str
  text: str
  rows: tuple[int, ...] = ()
  first: str = ''

  @property
  def place(self) -> str:
    """The first few rows, how many there are, and where the first is."""
    return '; '.join(filter(None, [row_text(self.rows), self.first]))

  def line(self) -> str:
    """Returns the whole finding, without its severity."""
    return f'{self.text} [{self.place}]' if self.rows else self.text


def error(name: str, text: str, rows: Iterable[int] = ()) -> DataFinding:
  return DataFinding(name, ERROR, text, _numbers(rows))


def warning(name: str, text: str, rows: Iterable[int] = ()) -> DataFinding:
  return DataFinding(name, WARNING, text, _numbers(rows))


def row_text(rows: tuple[int, ...]) -> str:
  """Returns such as 'rows 3, 4, 9, 11, 12 and 1,024 others'."""
  if not rows:
    return ''
  shown = ', '.join(f'{row:,}' for row in rows[:SHOWN_ROWS])
  more = len(rows) - SHOWN_ROWS
  others = f' and {more:,} other{"s" * (more > 1)}' if more > 0 else ''
  return f'row{"s" * (len(rows) > 1)} {shown}{others}'


def share_text(share: float) -> str:
  """Returns a share in per cent; what is not all is never called 100%."""
  if 0 < share < 0.001:
    return 'below 0.1%'
  if 0.999 < share < 1:
    return 'above 99.9%'
  return f'{share:.1%}'.replace('.0%', '%')


def _numbers(rows: Iterable[int]) -> tuple[int, ...]:
  return tuple(np.asarray(rows, np.int64).tolist())
