"""Tests for the table of all runs: what tells them apart."""

import dataclasses

import numpy as np
import pytest

from srdice_tf import results
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import run_records
from tests.reports import hand_made


def _frame(tmp_path):
  (group,) = finished_runs.read(str(tmp_path))
  return run_records.frame(group)


def test_what_all_have_in_common_is_not_told(tmp_path):
  for seed in range(2):
    for env_id in ('A', 'B'):
      path = tmp_path / env_id / str(seed)
      hand_made.write_run(path, env_id, seed, {'deep_td': -4.0, 'srdice': -3.0})
  frame = _frame(tmp_path)
  assert list(frame['task']) == ['A'] * 4 + ['B'] * 4
  assert set(frame['label']) == {'srdice', 'deep_td'}
  assert set(frame['variant']) == {''} and set(frame['task_variant']) == {''}
  # Srdice comes before deep_td, however they were run.
  np.testing.assert_allclose(
      frame['smoothed_log_error'][:4], [-3.0, -2.9, -4.0, -3.9]
  )
  np.testing.assert_allclose(frame['behaviour_log_error'], np.log(0.5))
  assert set(frame['updates']) == {12_000}


def test_tasks_by_what_differs_in_order(tmp_path):
  for gamma in (0.995, 0.9, 0.95):
    path, task = tmp_path / str(gamma), {'gamma': gamma}
    hand_made.write_run(path, 'A', 0, {'srdice': -3.0}, task=task)
  frame = _frame(tmp_path)
  assert list(frame['task']) == ['A, gamma=0.9', 'A, gamma=0.95',
                                 'A, gamma=0.995']
  assert list(frame['task.gamma']) == [0.9, 0.95, 0.995]


def test_the_value_of_most_runs_needs_no_name(tmp_path):
  for seed, size in enumerate((256, 256, 2048)):
    hand_made.write_run(
        tmp_path / str(seed), 'A', seed, {'dual_dice': -1.0},
        hyperparameters={'ratio_batch_size': size},
    )
  frame = _frame(tmp_path)
  assert list(frame['label']) == [
      'dual_dice', 'dual_dice', 'dual_dice, ratio_batch_size=2,048'
  ]
  assert list(frame['method.ratio_batch_size']) == [256, 256, 2048]


def test_names_are_the_same_in_all_environments(tmp_path):
  """Also where another setting has most of the runs of one."""
  runs = {'A': (256, 256, 256, 2048), 'B': (256, 2048, 2048)}
  for env_id, sizes in runs.items():
    for i, size in enumerate(sizes):
      hand_made.write_run(
          tmp_path / env_id / str(i), env_id, i, {'dual_dice': -1.0},
          hyperparameters={'ratio_batch_size': size},
      )
  assert set(_frame(tmp_path)['label']) == {
      'dual_dice', 'dual_dice, ratio_batch_size=2,048'
  }


def test_the_settings_have_names_where_there_are_several(tmp_path):
  for setting in ('easy', 'hard'):
    hand_made.write_run(tmp_path / setting, 'A', 0, {'srdice': -3.0}, setting)
  assert list(_frame(tmp_path)['task']) == ['A (easy)', 'A (hard)']


def test_parts_of_a_data_set_are_runs_of_their_own(tmp_path):
  for part in range(2):
    path = tmp_path / str(part)
    hand_made.write_run(path, 'A', 7, {'srdice': 0.0}, part=part)
  assert list(_frame(tmp_path)['run']) == ['7.0', '7.1']


@pytest.mark.parametrize(
    ('steps', 'updates'), [((20,), 20), ((10, 20), 20), ((1,), None)]
)
def test_a_closed_form_has_no_updates(steps, updates):
  curve = results.Curve(steps, (0.5,) * len(steps))
  result = results.MethodResult('srdice', 0.5, seconds=1.0, curve=curve)
  assert run_records.num_updates(result) == updates


@pytest.mark.parametrize(
    'estimates, expected',
    [
        ((9.0, -9.0, 9.0, 1.0, 3.0, 1.0, 3.0), None),  # Four are too few.
        # Squares of the last five from their mean: 4; from a straight line of
        # the slope 0.2, whose own are 0.4: 3.6. The truth is 2.
        ((9.0,) * 5 + (1.0, 3.0, 1.0, 3.0, 2.0), np.log(0.72**0.5 / 2.0)),
        ((5.0,) * 10, np.log(1e-12)),
        (tuple(range(10)), np.log(1e-12)),  # It drifts, and does not swing.
        ((1.0,) * 9 + (np.nan,), np.nan),
    ],
)
def test_how_much_an_estimate_swings(estimates, expected):
  steps = tuple(range(len(estimates)))
  result = results.MethodResult(
      'srdice', 1.0, curve=results.Curve(steps, estimates)
  )
  found = results.Evaluation(
      {'srdice': result}, 0.99, 0, 'A', 'hard', 100, 10, 1.5, hand_made.TRUTH
  )
  swing = run_records.log_swing(found, 'srdice')
  assert swing == (expected and pytest.approx(expected, nan_ok=True))
  untrue = dataclasses.replace(found, truth=None)
  assert run_records.log_swing(untrue, 'srdice') is None


@pytest.mark.parametrize(
    'estimates, updates',
    [
        ((5.0,) * 9, None),  # Nine are too few.
        # Within 0.2 of the last one, a tenth of the truth of 2.
        ((5.0, 1.1, 5.0, 1.1, 1.0, 0.9, 1.1, 1.0, 1.1, 1.0), 4),
        ((1.1,) * 10, 1),
        ((9.0,) * 9 + (1.0,), 10),
        ((1.0,) * 9 + (np.inf,), np.nan),  # It never settles.
    ],
)
def test_when_an_estimate_is_where_it_ends(estimates, updates):
  curve = results.Curve(tuple(range(1, len(estimates) + 1)), estimates)
  result = results.MethodResult('srdice', 1.0, curve=curve)
  found = results.Evaluation(
      {'srdice': result}, 0.99, 0, 'A', 'hard', 100, 10, 1.5, hand_made.TRUTH
  )
  settled = run_records.log_settled(found, 'srdice')
  assert settled == (updates and pytest.approx(np.log(updates), nan_ok=True))
  lost = dataclasses.replace(result, diverged=True)
  stopped = dataclasses.replace(found, methods={'srdice': lost})
  if updates:
    assert np.isnan(run_records.log_settled(stopped, 'srdice'))
  untrue = dataclasses.replace(found, truth=None)
  assert run_records.log_settled(untrue, 'srdice') is None


def test_the_worst_error_is_of_the_whole_way():
  curve = results.Curve((1, 2, 3), (2.5, -198.0, 1.0))
  methods = {
      'srdice': results.MethodResult('srdice', 1.0, curve=curve),
      'deep_td': results.MethodResult('deep_td', 6.0),
  }
  found = results.Evaluation(
      methods, 0.99, 0, 'A', 'hard', 100, 10, 1.5, hand_made.TRUTH
  )
  assert run_records.worst_error(found, 'srdice') == pytest.approx(100.0)
  assert run_records.worst_error(found, 'deep_td') == pytest.approx(2.0)
  untrue = dataclasses.replace(found, truth=None)
  assert run_records.worst_error(untrue, 'srdice') is None
