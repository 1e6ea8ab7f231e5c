"""Tables of results, for the terminal and for documents."""

from collections.abc import Sequence
import math
import numbers

import numpy as np


def deviation(values: Sequence[float]) -> float | None:
  """Returns the standard deviation, by n - 1; None of a single value."""
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
  table, is_text = _cells(columns, rows)
  widths = [max(map(len, column)) for column in zip(*table)]
  table.insert(1, ['-' * width for width in widths])
  return '\n'.join(_line(cells, widths, is_text) for cells in table)


def to_markdown(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
  """Returns the table as Markdown, its values as in `format_table`."""
  table, is_text = _cells(columns, rows)
  table = [[cell.replace('|', '\\|') for cell in cells] for cells in table]
  table.insert(1, ['---' if text else '---:' for text in is_text])
  return '\n'.join(f'| {" | ".join(cells)} |' for cells in table)


def _cells(columns, rows) -> tuple[list[list[str]], list[bool]]:
  """Returns headings and rows as texts, and which columns are of texts."""
  for row in rows:
    if len(row) != len(columns):
      raise ValueError(f'{row}: expected a value for each of {columns}.')
  is_text = [
      any(isinstance(row[i], str) for row in rows) for i in range(len(columns))
  ]
  return [list(columns), *(list(map(_cell, row)) for row in rows)], is_text


def _line(cells, widths, is_text) -> str:
  aligned = [
      cell.ljust(width) if text else cell.rjust(width)
      for cell, width, text in zip(cells, widths, is_text)
  ]
  return '  '.join(aligned).rstrip()


def _cell(value) -> str:
  if value is None:
    return '-'
  if isinstance(value, str | bool):
    return str(value)
  if isinstance(value, numbers.Integral):
    return f'{value:,}'
  return _number(float(value))


def _number(value: float) -> str:
  if not math.isfinite(value):
    return 'diverged'
  if value and not 1e-3 <= abs(value) < 1e6:
    return f'{value:.3e}'
  if abs(value) >= 999.95:  # Four digits: none is left after the point.
    return f'{value:,.0f}'
  return f'{value:#.4g}'
