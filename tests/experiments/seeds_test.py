"""Tests for the picture of several seeds."""

import json
import os

import numpy as np
import pytest

from srdice_tf.experiments import seeds
from srdice_tf.logging import metrics
from srdice_tf.reports import curves


def _run_dir(path, errors, behaviour):
  with metrics.MetricsWriter(str(path)) as writer:
    for i, error in enumerate(errors):
      writer.write('srdice', 'srdice', 1000 * (i + 1), {'log_error': error})
  truth = {'target': {'value': 1.0}, 'behaviour': {'value': behaviour}}
  (path / 'estimate.json').write_text(json.dumps({'truth': truth}))
  return str(path)


def test_curves_of_all_seeds_are_joined(tmp_path, monkeypatch):
  run_dirs = [
      _run_dir(tmp_path / 'a', [1.0, 2.0, 3.0], behaviour=2.0),
      _run_dir(tmp_path / 'b', [5.0, 6.0], behaviour=3.0),  # Diverged.
  ]
  seen = {}
  monkeypatch.setattr(
      curves, 'plot_curves', lambda *arguments: seen.update(all=arguments)
  )
  seeds.plot(run_dirs, 'curve.png', 'a title')
  path, joined, behaviour, title = seen['all']
  assert (path, title) == ('curve.png', 'a title')
  steps, errors = joined['srdice']
  np.testing.assert_array_equal(steps, [1000, 2000, 3000])
  np.testing.assert_array_equal(errors, [[1.0, 2.0, 3.0], [5.0, 6.0, np.nan]])
  # log(0.5 * 1) and log(0.5 * 4).
  assert behaviour == pytest.approx((np.log(0.5) + np.log(2.0)) / 2.0)


def test_picture_is_written(tmp_path):
  run_dir = _run_dir(tmp_path / 'a', [1.0, 2.0], behaviour=2.0)
  seeds.plot([run_dir], str(tmp_path / 'curve.png'), 'a title')
  assert os.path.getsize(tmp_path / 'curve.png') > 1000
