"""Tables of numbers that a run leaves behind, read with care."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import csv
import io
import os

from srdice_tf import errors


def read(
    path: str,
    columns: Sequence[str],
    advice: str,
    text_columns: Collection[str] = (),
) -> list[dict]:
  """Returns the rows of a table by name; none if there is no file.

  Args:
    path: of the file.
    columns: their names, in this order.
    advice: ends the message, such as 'remove it to run anew'.
    text_columns: those that are no numbers.

  Raises:
    UserError: if it is not such a table; the file and line are named.
  """
  if not os.path.exists(path):
    return []
  try:
    with open(path, newline='', encoding='utf-8') as file:
      text = file.read()
    lines = list(csv.reader(io.StringIO(text), strict=True))
  except (OSError, ValueError, csv.Error) as error:
    raise errors.UserError(
        f'{path}: cannot be read ({error}); {advice}.'
    ) from error
  header = ','.join(columns)
  if not lines or lines[0] != list(columns):
    found = ','.join(lines[0])[:80] if lines else 'nothing'
    raise errors.UserError(
        f'{path}: found {found!r}, expected {header}; {advice}.'
    )
  if not text.endswith('\n'):
    raise errors.UserError(
        f'{path}: is cut short in line {len(lines)}; {advice}.'
    )
  rows = []
  for number, cells in enumerate(lines[1:], 2):
    try:
      rows.append({
          name: cell if name in text_columns else float(cell)
          for name, cell in zip(columns, cells, strict=True)
      })
    except ValueError as error:
      found = ','.join(cells)[:80]
      raise errors.UserError(
          f'{path}: line {number} is {found!r}, expected {header}; {advice}.'
      ) from error
  return rows


def write(path: str, columns: Sequence[str], rows: Iterable[Sequence]):
  """Writes a table that is there whole or not at all."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerows([columns, *rows])
  with open(f'{path}.tmp', 'w', encoding='utf-8', newline='') as file:
    file.write(text.getvalue())
  os.replace(f'{path}.tmp', path)
