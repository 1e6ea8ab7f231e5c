"""All that run_ope.py prints at its end, but for where things are."""

from collections.abc import Sequence
import textwrap

import numpy as np

from srdice_tf import results
from srdice_tf.reports import comparison
from srdice_tf.reports import judgements

_COLUMNS = 100


def text(
    evaluations: Sequence[results.Evaluation], entries, verbose: bool
) -> str:
  """Returns notes, what the methods say, tables, the verdict and the truth.

  Args:
    evaluations: that differ in nothing but their seed.
    entries: of the sweep that they are of.
    verbose: as for `comparison.text`.
  """
  said = [
      comparison.lines(evaluation, entry.directory)
      for entry, evaluation in zip(entries, evaluations)
  ]
  return '\n'.join([
      *_notes(entries),
      *said,
      comparison.text(evaluations, verbose),
      '',
      judgements.lines(evaluations),
      '',
      comparison.truth_lines(evaluations),
      comparison.behaviour_lines(evaluations),
      unit_lines(evaluations),
  ])


def _notes(entries) -> list[str]:
  """Returns what is odd about the data."""
  found = dict.fromkeys(note for entry in entries for note in entry.notes)
  return [_wrapped(f'note          {note}') for note in found]


def _wrapped(line: str) -> str:
  return textwrap.fill(line, _COLUMNS, subsequent_indent=' ' * 14)


def unit_lines(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns the estimates as sums, and what the data's own episodes came to.

  A value per step, divided by 1 - gamma, is the discounted sum of an episode's
  rewards.
  """
  gamma = evaluations[0].gamma
  sums = [
      f'{name} {np.mean([result.value for result in same]) / (1 - gamma):.5g}'
      for name, same, _ in comparison.by_method(evaluations)
  ]
  found = [
      f'as a sum      {", ".join(sums)}: discounted return, the estimate /'
      f' (1 - {gamma:g})'
  ]
  logged = [e.logged for e in evaluations if e.logged is not None]
  num_ended = sum(each.num_ended for each in logged)
  if num_ended:
    total = num_ended + sum(each.num_cut for each in logged)
    found.append(
        f'episodes      {num_ended:,} of {total:,} in the data ended by'
        f' themselves: average return {_weighted(logged, "mean_return"):.5g},'
        f' discounted {_weighted(logged, "mean_discounted"):.5g}'
    )
  return '\n'.join(map(_wrapped, found))


def _weighted(logged: Sequence[results.EpisodeReturns], key: str) -> float:
  """Returns a mean over all episodes that ended."""
  with_ends = [each for each in logged if each.num_ended]
  return float(
      np.average(
          [getattr(each, key) for each in with_ends],
          weights=[each.num_ended for each in with_ends],
      )
  )
