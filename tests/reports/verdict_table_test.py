"""Tests of verdicts against the truth, on runs made by hand."""

import dataclasses
import pathlib

import pandas as pd
import pytest

from srdice_tf import experiments
from srdice_tf import results
from srdice_tf.evaluation import verdicts
from srdice_tf.reports import run_records
from srdice_tf.reports import verdict_table
from tests.reports import hand_made

_TASK = {
    'policy': 'pretrained:weak', 'behaviour_policy': 'pretrained:weak',
    'setting': 'hard',
}

_SHIPPED = pathlib.Path(experiments.__file__).parent / 'results'


def _record(env_id, error, truth=hand_made.TRUTH, task=_TASK, **evidence):
  known = {'disagreement': 0.0, 'reward_deviation': 1.0, **evidence}
  result = results.MethodResult(
      'srdice', 2.0 + 2.0 * error, evidence=results.EstimateEvidence(**known)
  )
  found = results.Evaluation(
      {'srdice': result}, 0.99, 0, env_id, 'hard', truth=truth
  )
  return run_records.RunRecord(env_id, found, {'task': task})


def _env(half, number=0):
  """Returns a name whose run is of a half."""
  names = (f'env{i}' for i in range(100))
  found = [n for n in names if verdict_table.half(n, 'weak_hard') == half]
  return found[number]


def test_grades_are_counted_against_the_truth():
  first, second = (_env('report', number) for number in (0, 1))
  frame = verdict_table.frame([
      _record(first, 0.09),
      _record(second, 0.11),
      _record(second, 0.5, far_share=1.0),
      _record(_env('fit'), 0.0, far_share=1.0),
  ])
  assert list(frame['grade']) == ['usable'] * 2 + ['do_not_use'] * 2
  assert list(frame['half']) == ['report'] * 3 + ['fit']
  assert list(frame['error']) == pytest.approx([0.09, 0.11, 0.5, 0.0])
  assert set(frame['run']) == {'weak_hard'} and frame['recommended'].all()
  rows = verdict_table.text(frame).splitlines()
  assert [line.split() for line in rows if 'recommended' in line] == [
      'fit recommended 1 0 of 0 0 of 0 1 of 1'.split(),
      'report recommended 3 1 of 2 0 of 0 0 of 1'.split(),
  ]


def test_data_of_another_policy_are_named():
  task = {**_TASK, 'policy': 'pretrained:best'}
  frame = verdict_table.frame([_record('A', 0.0, task=task)])
  assert list(frame['run']) == ['best_hard_of_weak']


def test_near_zero_errors_are_relative_to_the_rewards():
  truth = dataclasses.replace(hand_made.TRUTH, value=0.0)
  frame = verdict_table.frame([_record('A', -0.99, truth=truth)])
  assert list(frame['error']) == pytest.approx([0.02 / 0.1])


def test_runs_without_truth_or_evidence_have_no_row():
  bare = hand_made.result('srdice', -3.0)
  record = _record('A', 0.0)
  before = dataclasses.replace(record.evaluation, methods={'srdice': bare})
  records = [
      _record('A', 0.0, truth=None),
      run_records.RunRecord('A', before, {}),
  ]
  assert verdict_table.frame(records).empty


def test_the_shipped_table_has_the_grades_of_todays_thresholds():
  """Who changes a threshold writes the table again, and the README."""
  rows = pd.read_csv(_SHIPPED / 'verdict.csv').astype(object)
  rows = rows.where(rows.notna(), None).to_dict('records')
  names = [f.name for f in dataclasses.fields(results.EstimateEvidence)]
  assert {row['half'] for row in rows} == {'fit', 'report'}
  for row in rows:
    evidence = results.EstimateEvidence(**{name: row[name] for name in names})
    assert verdicts.judge(row['value'], evidence).grade == row['grade'], row
    assert verdict_table.half(row['env'], row['run']) == row['half']
