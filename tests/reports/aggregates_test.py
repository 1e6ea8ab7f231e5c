"""Tests for the statistics over tasks and runs."""

import numpy as np
import pandas as pd
import pytest

from srdice_tf.reports import aggregates
from srdice_tf.reports import figures


def _frame(errors):
  """Returns a table of errors by (label, task, run)."""
  return pd.DataFrame([
      {'label': label, 'task': task, 'run': run, 'value': 1.0,
       aggregates.ERROR: error}
      for (label, task, run), error in errors.items()
  ])


def _whole(num_runs=4, tasks='AB'):
  return {
      (label, task, str(run)): base + run
      for label, base in (('x', -8.0), ('y', 0.0))
      for task in tasks
      for run in range(num_runs)
  }


def test_tasks_that_all_have_and_as_many_runs():
  errors = _whole()
  del errors['x', 'A', '1']
  errors['x', 'C', '0'] = 5.0
  found, said = aggregates.scores(_frame(errors))
  np.testing.assert_array_equal(found['x'], [[-8, -8], [-6, -7], [-5, -6]])
  assert said == '2 tasks, 3 runs each; without C'


def test_tasks_with_a_single_run_take_no_runs_from_the_others():
  errors = _whole(tasks='ABC')
  for run in '123':
    del errors['x', 'B', run]
  found, said = aggregates.scores(_frame(errors))
  assert found['x'].shape == (4, 2)
  assert said == '2 tasks, 4 runs each; without B'


def test_what_diverged_counts_as_the_worst():
  errors = _whole() | {('x', 'A', '0'): float('nan')}
  errors['x', 'A', '1'] = float('inf')
  found, _ = aggregates.scores(_frame(errors))
  np.testing.assert_array_equal(found['x'][:, 0], [3.0, 3.0, -6.0, -5.0])


def test_iqm_and_its_interval():
  found, _ = aggregates.scores(_frame(_whole()))
  told = aggregates.intervals(found)
  # Of -8 to -5, twice each, the middle half is -7, -7, -6, -6.
  point, low, high = told['x']
  assert point == -6.5 and -8.0 <= low < -6.5 < high <= -5.0
  assert aggregates.intervals(found) == told


def test_the_bootstrap_leaves_the_generator_alone():
  found, _ = aggregates.scores(_frame(_whole()))
  np.random.seed(3)
  expected = np.random.rand()
  np.random.seed(3)
  aggregates.intervals(found)
  assert np.random.rand() == expected


def test_a_single_run_has_no_interval():
  found, _ = aggregates.scores(_frame(_whole(num_runs=1)))
  assert aggregates.intervals(found)['y'] == (0.0, None, None)


def test_profiles_are_shares_of_runs():
  looks = figures.styles_of(['x', 'y'])
  frame = _frame(_whole())
  table = aggregates.profile_figure(frame, looks, 'profiles').table
  first, last = table.rows[0], table.rows[-1]
  assert first == pytest.approx([-8.0, 0.25, 0.0])
  assert last == pytest.approx([3.0, 1.0, 1.0])
  one = _frame(_whole(tasks='A'))
  assert aggregates.profile_figure(one, looks, 'profiles') is None


def test_nothing_in_common_is_no_figure():
  errors = {('x', 'A', '0'): 1.0, ('y', 'B', '0'): 2.0}
  assert aggregates.scores(_frame(errors)) == ({}, 'no task has all methods')
  looks = figures.styles_of(['x', 'y'])
  assert aggregates.iqm_figure(_frame(errors), looks, 'iqm') is None
