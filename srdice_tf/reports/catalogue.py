"""The list of experiments with their cost, and how an experiment went."""

from collections.abc import Iterable
from collections.abc import Mapping

from srdice_tf.reports import tables


def table(rows: Iterable[tuple[str, int, float, str]], num_workers: int) -> str:
  """Returns the experiments as a table.

  Args:
    rows: name, number of runs, seconds, and title of each.
    num_workers: cores that are used.
  """
  return tables.format_table(
      ('experiment', 'runs', f'on {num_workers} cores', 'what'),
      [
          [name, count, duration(seconds), title]
          for name, count, seconds, title in rows
      ],
  )


def duration(seconds: float) -> str:
  """Returns a time that is only about right, in few words."""
  if seconds < 90:
    return f'{seconds:.0f} s'
  if seconds < 90 * 60:
    return f'{seconds / 60:.0f} min'
  if seconds < 48 * 3600:
    return f'{seconds / 3600:.1f} h'
  return f'{seconds / 86400:.1f} days'


def failures(found: Mapping[str, str], total: int) -> str:
  """Returns a line for each run that failed, after one that counts them."""
  lines = [f'  {where}: {why}' for where, why in found.items()]
  count = f'{len(found)} of {total} runs failed; the same command tries again'
  return '\n'.join([count, *lines])
