"""Verdicts against the truth: how often they were right, on runs that have one.

Thresholds were fixed on one half of the runs, and are reported on the other.
Which half a run belongs to depends on its name alone.
"""

from collections.abc import Iterable
import dataclasses
import math
import zlib

import pandas as pd

from srdice_tf import results
from srdice_tf.evaluation import evidence
from srdice_tf.evaluation import verdicts
from srdice_tf.reports import judgements
from srdice_tf.reports import run_records
from srdice_tf.reports import tables

FIT, REPORT = 'fit', 'report'
RECOMMENDED = 'recommended'
TOLERANCE = 0.1  # The relative error of a right estimate.
_EVIDENCE = tuple(f.name for f in dataclasses.fields(results.EstimateEvidence))


def half(env_id: str, label: str) -> str:
  """Returns the half that a run belongs to, by its name."""
  return (FIT, REPORT)[zlib.crc32(f'{env_id} {label}'.encode()) % 2]


def frame(records: Iterable[run_records.RunRecord]) -> pd.DataFrame:
  """Returns a row for each run and method, with today's verdicts.

  Runs without truth or evidence have none.
  """
  rows = []
  for record in records:
    evaluation = _judged(record.evaluation)
    if evaluation.truth is not None and evaluation.recommended is not None:
      rows += [
          _row(record, evaluation, result)
          for result in evaluation.methods.values()
          if result.verdict is not None
      ]
  return pd.DataFrame(rows)


def _judged(evaluation: results.Evaluation) -> results.Evaluation:
  """Returns the evaluation with verdicts by the thresholds as they are now."""
  methods = {
      name: result
      if result.evidence is None
      else dataclasses.replace(
          result, verdict=verdicts.judge(result.value, result.evidence)
      )
      for name, result in evaluation.methods.items()
  }
  return dataclasses.replace(evaluation, methods=methods)


def _row(record, evaluation: results.Evaluation, result) -> dict:
  truth, env_id = evaluation.truth, evaluation.env_id
  label = _label(record.config.get('task', {}), evaluation.setting)
  unit = evidence.scale(truth.value, result.evidence.reward_deviation or 0.0)
  return {
      'env': env_id,
      'run': label,
      'half': half(env_id, label),
      'method': result.method,
      'recommended': result is evaluation.recommended,
      'grade': result.verdict.grade,
      'value': result.value,
      'truth': truth.value,
      'truth_error': truth.standard_error / unit,
      'error': abs(result.value - truth.value) / unit,
      **{name: getattr(result.evidence, name) for name in _EVIDENCE},
  }


def _label(task, setting: str) -> str:
  """Returns checkpoint and setting, and whose data they are if another's."""
  policy, logged = (
      task.get(name, '').rpartition(':')[2]
      for name in ('policy', 'behaviour_policy')
  )
  label = f'{policy}_{setting}'
  return f'{label}_of_{logged}' if logged not in ('', policy) else label


def text(rows: pd.DataFrame) -> str:
  """Returns how many estimates of each grade are within 10% of the truth."""
  lines = []
  for name in (FIT, REPORT):
    part = rows[rows['half'] == name]
    groups = {RECOMMENDED: part[part['recommended']]}
    groups |= dict(iter(part.groupby('method', sort=False)))
    groups['all methods'] = part
    for method, found in groups.items():
      cells = [_cell(found, grade) for grade in results.GRADES]
      lines.append([name, method, str(len(found)), *cells])
  columns = (
      'half',
      'method',
      'estimates',
      *(f'{judgements.words(g)}: within 10%' for g in results.GRADES),
  )
  return tables.format_table(columns, lines)


def _cell(rows: pd.DataFrame, grade: str) -> str:
  found = rows[rows['grade'] == grade]
  right = sum(is_right(error) for error in found['error'])
  return f'{right} of {len(found)}'


def is_right(error: float) -> bool:
  """Returns whether an estimate with this relative error is within 10%."""
  return math.isfinite(error) and error <= TOLERANCE
