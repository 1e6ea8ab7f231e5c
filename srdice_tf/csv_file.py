"""Tables of numbers that a run leaves behind, read with care."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import io
import os

import pandas as pd

from srdice_tf import errors


def read(
    path: str,
    columns: Sequence[str],
    advice: str,
    text_columns: Collection[str] = (),
    is_growing: bool = False,
) -> list[dict]:
  """Returns the rows of a table by name; none if there is no file.

  Args:
    path: of the file.
    columns: their names, in this order.
    advice: ends the message, such as 'remove it to run again'.
    text_columns: those that are not numbers.
    is_growing: whether lines are appended to it, so that the last one may be
      unfinished; such a line is left out.

  Raises:
    UserError: if it is not such a table; the file and line are named.
  """
  if not os.path.exists(path):
    return []
  wanted = f'expected {",".join(columns)}; {advice}'
  try:
    with open(path, 'rb') as file:
      content = file.read()
    end = content.rfind(b'\n') + 1
    if not end:
      if is_growing:
        return []
      raise errors.at(path, 'holds no whole line', wanted)
    whole = io.BytesIO(content[:end])
    cells = pd.read_csv(whole, header=None, dtype=str, keep_default_na=False)
  except (OSError, ValueError) as error:  # pandas' own are ValueErrors.
    reason = ' '.join(str(error).split())
    raise errors.at(path, f'cannot be read ({reason})', advice) from error
  header, *lines = cells.itertuples(index=False, name=None)
  if header != tuple(columns):
    raise errors.at(path, f'found {",".join(header)[:80]!r}', wanted)
  if end < len(content) and not is_growing:
    raise errors.at(path, f'is cut short in line {len(lines) + 2}', advice)
  rows = []
  for number, line in enumerate(lines, 2):
    try:
      rows.append({
          name: cell if name in text_columns else float(cell)
          for name, cell in zip(columns, line)
      })
    except ValueError as error:
      shown = ','.join(line)[:80]
      raise errors.at(path, f'line {number} is {shown!r}', wanted) from error
  return rows


def write(path: str, columns: Sequence[str], rows: Iterable[Sequence]):
  """Writes a table that is there whole or not at all."""
  # Objects are written as they are: an integer beside a NaN stays one.
  table = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
  table.to_csv(f'{path}.tmp', index=False, na_rep='nan')
  os.replace(f'{path}.tmp', path)
