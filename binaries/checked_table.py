"""A table of what finished runs have said and what was true."""

import os

from srdice_tf import errors
from srdice_tf.experiments import finished_runs


def show(runs: str, path: str | None, table, file_name: str, wanted: str):
  """Prints a table of runs, and writes all of its rows.

  Args:
    runs: directory above them.
    path: of the CSV file; None for `file_name` in that directory.
    table: module with `frame` of the runs and `text` of the frame.
    file_name: of the CSV file, unless `path` says it.
    wanted: what a run must have, beside the truth, to be in the table.

  Raises:
    UserError: if no run has it, or the file cannot be written.
  """
  groups = finished_runs.read(runs)
  rows = table.frame(r for group in groups for r in group.records)
  if rows.empty:
    raise errors.UserError(
        'runs', runs, f'no run there has a truth and a {wanted}'
    )
  print(table.text(rows))
  path = path or os.path.join(runs, file_name)
  try:
    rows.to_csv(path, index=False, float_format='%.6g')
  except OSError as error:
    reason = error.strerror or str(error)
    raise errors.UserError('table', path, reason) from error
  print(f'all numbers   {path}')
