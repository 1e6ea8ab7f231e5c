"""Tests for the picture of several seeds."""

import dataclasses
import json
import os

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import ope
from srdice_tf.experiments import seeds
from srdice_tf.experiments import setup
from srdice_tf.logging import metrics
from srdice_tf.reports import curves


def _truth(value):
  return truth_lib.PolicyValue(value, 0.1, 0, 0, 0, 1, 100, 0.99, 917)


def _run_dir(path, log_errors, behaviour=2.0):
  """Returns a run with these errors; its estimates are ten times as large.

  Args:
    path: of the run.
    log_errors: of each method; a method without one diverged before its first.
    behaviour: its value; that of the target is 1.
  """
  results = []
  with metrics.MetricsWriter(str(path)) as writer:
    for method, found in log_errors.items():
      for i, error in enumerate(found):
        values = {'log_error': error, 'estimate': 10.0 * error}
        writer.write(method, method, 1000 * (i + 1), values)
      last = 10.0 * found[-1] if found else float('nan')
      results.append(
          ope.Result(
              method, last, 1.0, 0.1, 0.0, 0.0, 1.0, not found, {}, None,
              interval=(last - 1.0, last + 1.0) if found else None,
          )
      )
  truth = {'target': _truth(1.0), 'behaviour': _truth(behaviour)}
  content = {
      'truth': {name: dataclasses.asdict(t) for name, t in truth.items()},
      'methods': [dataclasses.asdict(result) for result in results],
  }
  (path / 'estimate.json').write_text(json.dumps(content))
  return str(path)


@pytest.fixture(name='drawn')
def _drawn(monkeypatch):
  """Returns what is given to the picture."""
  seen = {}
  monkeypatch.setattr(
      curves,
      'plot_curves',
      lambda *arguments, **named: seen.update(all=arguments, **named),
  )
  return seen


def test_curves_of_all_seeds_are_joined(tmp_path, drawn):
  run_dirs = [
      _run_dir(tmp_path / 'a', {'srdice': [1.0, 2.0, 3.0]}, behaviour=2.0),
      _run_dir(tmp_path / 'b', {'srdice': [5.0, 6.0]}, behaviour=3.0),
  ]
  seeds.plot(run_dirs, 'curve.png', 'a title')
  path, joined, behaviour, title = drawn['all']
  assert (path, title) == ('curve.png', 'a title')
  steps, log_errors = joined['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  np.testing.assert_array_equal(
      log_errors, [[1.0, 2.0, 3.0], [5.0, 6.0, np.nan]]
  )
  # log(0.5 * 1) and log(0.5 * 4).
  assert behaviour == pytest.approx((np.log(0.5) + np.log(2.0)) / 2.0)
  steps, estimates, (low, high) = drawn['values']['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  np.testing.assert_array_equal(estimates, [30.0, 40.0, np.nan])
  # The runs end at 30 and 60: 45 -+ 12.706 sqrt(450 / 2).
  half = 12.7062 * 15.0
  assert (low, high) == pytest.approx((45.0 - half, 45.0 + half), rel=1e-5)
  assert drawn['truth'] == pytest.approx((1.0, 0.1))


def test_methods_are_joined_by_name(tmp_path, drawn):
  """One diverged at once in the first run, one is missing in the second."""
  run_dirs = [
      _run_dir(tmp_path / 'a', {'dual_dice': [], 'srdice': [1.0], 'x': [9.0]}),
      _run_dir(tmp_path / 'b', {'srdice': [3.0], 'dual_dice': [7.0]}),
  ]
  seeds.plot(run_dirs, 'curve.png', 'a title')
  _, joined, _, _ = drawn['all']
  assert list(joined) == ['dual_dice', 'srdice', 'x']
  np.testing.assert_array_equal(joined['dual_dice'][1], [[np.nan], [7.0]])
  np.testing.assert_array_equal(joined['srdice'][1], [[1.0], [3.0]])
  np.testing.assert_array_equal(joined['x'][1], [[9.0]])
  values = drawn['values']
  assert values['dual_dice'][2] is None
  assert np.mean(values['srdice'][2]) == pytest.approx(20.0)
  assert values['x'][2] == (89.0, 91.0)  # One run: its own.


def test_picture_is_written(tmp_path):
  run_dirs = [
      _run_dir(tmp_path / 'a', {'dual_dice': [], 'srdice': [1.0, 2.0]}),
      _run_dir(tmp_path / 'b', {'dual_dice': [1.0, 1.0], 'srdice': [2.0]}),
  ]
  seeds.plot(run_dirs, str(tmp_path / 'curve.png'), 'a title')
  assert os.path.getsize(tmp_path / 'curve.png') > 1000


def test_a_damaged_file_is_named(tmp_path):
  run_dir = _run_dir(tmp_path / 'a', {'srdice': [1.0, 2.0]})
  path = tmp_path / 'a' / 'estimate.json'
  content = json.loads(path.read_text())
  del content['truth']['behaviour']
  path.write_text(json.dumps(content))
  with pytest.raises(errors.UserError, match=r'estimate\.json: .*behaviour'):
    seeds.plot([run_dir], str(tmp_path / 'curve.png'), 'a title')


def test_the_truth_is_said_once(tmp_path):
  run_dirs = [
      _run_dir(tmp_path / name, {'srdice': [1.0, 2.0]}) for name in 'ab'
  ]
  (line,) = seeds.truth_lines(run_dirs).splitlines()
  assert '1.00000 +- 0.10000' in line and 'about -5.3' in line


def test_the_title_says_task_setting_and_seeds():
  task = setup.TaskConfig('ALE/Pong-v5', setting='noise')
  assert seeds.title(task, 3) == 'ALE/Pong-v5, noise setting, 3 seeds'
  assert seeds.title(setup.TaskConfig('Hopper-v4'), 1) == 'Hopper-v4, 1 seed'


def test_a_run_without_a_finite_estimate_is_an_error(tmp_path):
  for name in ('a', 'b'):
    (tmp_path / name).mkdir()
  good = _run_dir(tmp_path / 'a', {'srdice': [1.0], 'dual_dice': [2.0]})
  bad = _run_dir(tmp_path / 'b', {'srdice': [1.0], 'dual_dice': []})
  seeds.check_finite([good])
  with pytest.raises(errors.NotFiniteError, match=f'dual_dice; .*{bad}'):
    seeds.check_finite([good, bad])
