"""Tests for the picture of several seeds."""

import json
import os

import numpy as np
import pytest

from srdice_tf.experiments import seeds
from srdice_tf.experiments import setup
from srdice_tf.logging import metrics
from srdice_tf.reports import curves


def _run_dir(path, errors, behaviour):
  with metrics.MetricsWriter(str(path)) as writer:
    for i, error in enumerate(errors):
      values = {'log_error': error, 'estimate': 10.0 * error}
      writer.write('srdice', 'srdice', 1000 * (i + 1), values)
  truth = {
      'target': {'value': 1.0, 'standard_error': 0.1},
      'behaviour': {'value': behaviour},
  }
  method = {
      'estimate': 10.0 * errors[-1],
      'interval': [0.0, 1.0],
      'standard_error': 0.5,
  }
  (path / 'estimate.json').write_text(
      json.dumps({'truth': truth, 'methods': [method]})
  )
  return str(path)


def test_curves_of_all_seeds_are_joined(tmp_path, monkeypatch):
  run_dirs = [
      _run_dir(tmp_path / 'a', [1.0, 2.0, 3.0], behaviour=2.0),
      _run_dir(tmp_path / 'b', [5.0, 6.0], behaviour=3.0),  # Diverged.
  ]
  seen = {}
  monkeypatch.setattr(
      curves,
      'plot_curves',
      lambda *arguments, **named: seen.update(all=arguments, **named),
  )
  seeds.plot(run_dirs, 'curve.png', 'a title')
  path, joined, behaviour, title = seen['all']
  assert (path, title) == ('curve.png', 'a title')
  steps, errors = joined['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  np.testing.assert_array_equal(errors, [[1.0, 2.0, 3.0], [5.0, 6.0, np.nan]])
  # log(0.5 * 1) and log(0.5 * 4).
  assert behaviour == pytest.approx((np.log(0.5) + np.log(2.0)) / 2.0)
  steps, estimates, (low, high) = seen['values']['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000])
  np.testing.assert_array_equal(estimates, [30.0, 40.0])
  # The runs end at 30 and 60: a mean of 45, a variance of 450 and 0.25.
  half = 1.96 * np.sqrt(450.25)
  assert (low, high) == pytest.approx((45.0 - half, 45.0 + half))
  assert seen['truth'] == pytest.approx((1.0, 0.1))


def test_picture_is_written(tmp_path):
  run_dir = _run_dir(tmp_path / 'a', [1.0, 2.0], behaviour=2.0)
  seeds.plot([run_dir], str(tmp_path / 'curve.png'), 'a title')
  assert os.path.getsize(tmp_path / 'curve.png') > 1000


def test_the_title_says_task_setting_and_seeds():
  task = setup.TaskConfig('ALE/Pong-v5', setting='noise')
  assert seeds.title(task, 3) == 'ALE/Pong-v5, noise setting, 3 seeds'
  assert seeds.title(setup.TaskConfig('Hopper-v4'), 1) == 'Hopper-v4, 1 seed'
