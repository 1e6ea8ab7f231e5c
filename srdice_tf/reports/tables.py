"""Tables of results, for the terminal."""

from collections.abc import Sequence
import io
import math
import numbers

import numpy as np
from rich import box as rich_box
from rich import console as rich_console
from rich import table as rich_table
from rich import text as rich_text

# A line below the headings is all that is drawn.
_RULE = rich_box.Box('    \n    \n -  \n    \n    \n    \n    \n    \n')
_WIDTH = 1000  # Nothing is cut: rows fit their readers, or these scroll.


def deviation(values: Sequence[float]) -> float | None:
  """Returns the sample standard deviation (n - 1); None of a single value."""
  return float(np.std(values, ddof=1)) if len(values) > 1 else None


def format_table(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
  """Returns an aligned table of plain text.

  Columns of numbers are aligned to the right, those with a text to the left.
  Floats have four significant digits; None is '-', and a number that is not
  finite is 'diverged'.

  Args:
    columns: the headings.
    rows: a value for each column: a number, a text or None.
  """
  (heading, *lines), is_text = _cells(columns, rows)
  table = rich_table.Table(
      box=_RULE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
  )
  for name, text in zip(heading, is_text):
    justify = 'left' if text else 'right'
    table.add_column(rich_text.Text(name), justify=justify)
  for cells in lines:
    table.add_row(*map(rich_text.Text, cells))  # Brackets are not markup.
  shown = io.StringIO()
  rich_console.Console(file=shown, width=_WIDTH, color_system=None).print(table)
  return '\n'.join(line.rstrip() for line in shown.getvalue().splitlines())


def _cells(columns, rows) -> tuple[list[list[str]], list[bool]]:
  """Returns headings and rows as texts, and which columns hold a text."""
  for row in rows:
    if len(row) != len(columns):
      raise ValueError(f'{row}: expected a value for each of {columns}.')
  is_text = [
      any(isinstance(row[i], str) for row in rows) for i in range(len(columns))
  ]
  return [list(columns), *(list(map(cell_text, row)) for row in rows)], is_text


def cell_text(value, decimals: int | None = None) -> str:
  """Returns a value as tables show it.

  Args:
    value: a number, a text or None.
    decimals: digits of floats after the point; None for four in all.
  """
  if value is None:
    return '-'
  if isinstance(value, str | bool):
    return str(value)
  if isinstance(value, numbers.Integral):
    return f'{value:,}'
  if decimals is not None and math.isfinite(value):
    return f'{value:.{decimals}f}'
  return _number(float(value))


def _number(value: float) -> str:
  if not math.isfinite(value):
    return 'diverged'
  if value and not 1e-3 <= abs(value) < 1e6:
    return f'{value:.3e}'
  if abs(value) >= 999.95:  # Four digits: none is left after the point.
    return f'{value:,.0f}'
  return f'{value:#.4g}'
