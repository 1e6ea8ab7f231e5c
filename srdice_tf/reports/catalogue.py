"""The list of experiments with their cost, and how an experiment went."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import os
import textwrap

from srdice_tf.reports import tables

_WIDTH = 100  # Columns of a terminal.


def table(
    rows: Iterable[tuple[str, int, float, str, float]], num_workers: int
) -> str:
  """Returns the experiments as a table, and what is left after others.

  Args:
    rows: name, number of runs, seconds, title, and the seconds of what no
      other experiment has, of each.
    num_workers: cores that are used.
  """
  rows = list(rows)
  found = tables.format_table(
      ('experiment', 'runs', f'on {num_workers} cores', 'what'),
      [
          [name, count, duration(seconds), title]
          for name, count, seconds, title, _ in rows
      ],
  )
  left = [
      f'{name} {duration(own)}'
      for name, _, seconds, _, own in rows
      if own < 0.99 * seconds
  ]
  text = f'If runs of hard that others share are done: {", ".join(left)}.'
  return f'{found}\n{caption(text)}' if left else found


def duration(seconds: float) -> str:
  """Returns a time that is only about right, in few words."""
  if seconds < 90:
    return f'{seconds:.0f} s'
  if seconds < 90 * 60:
    return f'{seconds / 60:.0f} min'
  if seconds < 48 * 3600:
    return f'{seconds / 3600:.1f} h'
  return f'{seconds / 86400:.1f} days'


def failures(found: Mapping[str, str], directory: str) -> str:
  """Returns why each run failed, after a line that counts them.

  Args:
    found: reasons by the directory of the run.
    directory: of the experiment, which is not repeated with each run.
  """
  plural = 's' if len(found) > 1 else ''
  count = f'{len(found)} run{plural} failed; the same command tries again'
  texts = [failure(*each, directory) for each in found.items()]
  return '\n'.join([count, *texts])


def failure(run: str, reason: str, directory: str) -> str:
  """Returns one run that failed, in lines that fit the terminal."""
  text = f'  {run}: {reason}'.replace(os.path.join(directory, ''), '')
  return textwrap.fill(
      text, _WIDTH, subsequent_indent='    ', break_long_words=False,
      break_on_hyphens=False,
  )


def missing(name: str, runs: Sequence[str]) -> str:
  """Returns which runs of an experiment are not done, in a line or two."""
  count = f'{len(runs)} run{"s" * (len(runs) > 1)} of {name}'
  rest = f' to {runs[-1]}' if len(runs) > 1 else ''
  return caption(f'missing       {count}: {runs[0]}{rest}')


def caption(text: str) -> str:
  """Returns a long sentence in lines that fit the terminal."""
  return textwrap.fill(text, _WIDTH)
