"""What an experiment found, for the terminal."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import pandas as pd

from srdice_tf import results
from srdice_tf.evaluation import coverage
from srdice_tf.reports import chain_table
from srdice_tf.reports import comparison
from srdice_tf.reports import report_studies
from srdice_tf.reports import study
from srdice_tf.reports import tables


def text(
    by_label: Mapping[str, Sequence[results.Evaluation]],
    studies: Sequence[tuple[str, Any]],
    is_of_parts: bool = False,
) -> str:
  """Returns the tables of an experiment.

  Args:
    by_label: evaluations by the label of their setting.
    studies: results.RandomRewards, or the curves of the chain, each after the
      label of its setting.
    is_of_parts: whether evaluations are of the parts of one data set: then it
      counts how often their intervals hold the truth.
  """
  of_label = _coverage if is_of_parts else _evaluations
  found = [
      f'{label}\n{of_label(evaluations)}'.lstrip()
      for label, evaluations in by_label.items()
  ]
  is_rewards = lambda found: isinstance(found, results.RandomRewards)
  rewards = [each for each in studies if is_rewards(each[1])]
  if rewards:
    found.append(_rewards(rewards))
  found += [chain_table.table(s) for _, s in studies if not is_rewards(s)]
  return '\n\n'.join(found)


def _evaluations(evaluations: Sequence[results.Evaluation]) -> str:
  truths = comparison.truth_lines(evaluations)
  return f'{study.table(evaluations)}\n{truths}'


def _coverage(evaluations: Sequence[results.Evaluation]) -> str:
  parts = []
  for method in evaluations[0].methods:
    found = dataclasses.asdict(coverage.of_method(evaluations, method))
    heading = f'of the intervals of {method}', ''
    parts.append(tables.format_table(heading, list(found.items())))
  return '\n\n'.join(parts)


def _rewards(studies: Sequence[tuple[str, results.RandomRewards]]) -> str:
  rows = [
      {
          'env': each.env_id, 'seed': each.seed, 'method': method,
          'reward': number, 'log_mse': error, 'label': label,
      }
      for label, each in studies
      for method, errors in each.log_mses.items()
      for number, error in zip(each.numbers, errors)
  ]
  rewards = report_studies.told_apart(pd.DataFrame(rows))
  table = report_studies.of_rewards(rewards, 'rewards').table
  number = len(table.columns) - report_studies.NUM_PRINTED  # What fits.
  rows = [row[:number] for row in table.rows]
  return tables.format_table(table.columns[:number], rows)
