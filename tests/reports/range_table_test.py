"""Tests of ranges against the truth, on runs made by hand."""

import dataclasses

import pytest

from srdice_tf import results
from srdice_tf.reports import range_table
from srdice_tf.reports import run_records
from tests.reports import hand_made


def _record(env_id, low, high, interval=None, truth=hand_made.TRUTH, value=2.5):
  details = {} if low is None else {'range_low': low, 'range_high': high}
  found = results.MethodResult(
      'dr', value, interval=interval, details=details
  )
  evaluation = results.Evaluation(
      {'dr': found}, 0.99, 0, env_id, 'hard', truth=truth
  )
  return run_records.RunRecord(env_id, evaluation)


def test_share_and_width_by_environment():
  frame = range_table.frame([
      _record('A', 1.5, 3.5, interval=(2.2, 2.8)),  # The truth is 2.
      _record('A', 2.1, 2.9, interval=(1.9, 3.1)),
      _record('B', 1.0, 4.0),
      _record('B', None, None),
      _record('B', 1.0, 4.0, truth=None),
  ])
  assert list(frame['holds']) == [True, False, True]
  assert list(frame['width']) == pytest.approx([0.8, 0.32, 1.2])
  lines = range_table.text(frame).splitlines()
  cells = {line.split()[1]: line.split() for line in lines if 'dr' in line}
  assert cells['A'][2:] == ['2', '50%', '56%', '50%', '25.0%']
  assert cells['B'][2:] == ['1', '100%', '120%', '-', '25.0%']
  assert cells['all'][2:4] == ['3', '67%']


def test_settings_are_told_apart():
  """Two settings on the same data are not two data sets."""
  make = lambda ratio, high: dataclasses.replace(
      _record('A', 1.5, high),
      directory=ratio,
      config={'algos': ['dr'], 'hyperparameters': {'dr': {'dr_ratio': ratio}}},
  )
  table = range_table.of_runs([make('x', 3.5), make('y', 1.9)], 'ranges')
  assert [row[:4] for row in table.rows] == [
      ['dr, dr_ratio=x', 'A', '1', '100%'], ['dr, dr_ratio=y', 'A', '1', '0%'],
  ]


def test_the_table_of_a_report():
  table = range_table.of_runs([_record('A', 1.5, 3.5)], 'x_ranges')
  assert table.name == 'x_ranges'
  assert table.rows == [['dr', 'A', '1', '100%', '80%', '-', '25.0%']]


def test_nothing_without_ranges():
  assert range_table.frame([_record('A', None, None)]).empty
  assert range_table.of_runs([_record('A', None, None)], 'x') is None
