"""Tests for the diagnostics of ratios, against numbers by hand."""

import dataclasses
import json
import math

import numpy as np
import pytest

from srdice_tf import results
from srdice_tf.evaluation import diagnostics

pytestmark = pytest.mark.filterwarnings('error::RuntimeWarning')
_NAN = float('nan')
_INF = float('inf')


def test_by_hand():
  found = diagnostics.ratio_diagnostics(np.float32([3.0, 1.0, -1.0, 1.0]), 0.8)
  assert found == results.RatioDiagnostics(
      num_ratios=4,
      mean=1.0,
      expected_mean=0.8,
      effective_sample_size=pytest.approx(16.0 / 12.0),  # 4^2 / (9+1+1+1).
      effective_share=pytest.approx(1.0 / 3.0),
      negative_share=0.25,
      largest=3.0,
      non_finite_share=0.0,
  )


def test_equal_ratios_use_all_data():
  found = diagnostics.ratio_diagnostics(np.full(50, 0.7), 1.0)
  assert found.effective_sample_size == pytest.approx(50.0)
  assert found.effective_share == pytest.approx(1.0)


def test_one_ratio_uses_one_transition():
  found = diagnostics.ratio_diagnostics(np.array([0.0, 0.0, 9.0, 0.0]), 1.0)
  assert found.effective_sample_size == 1.0
  assert found.effective_share == 0.25


def test_diverged_ratios_are_counted_and_left_out():
  ratios = np.array([1.0, _NAN, 3.0, _INF, -_INF])
  found = diagnostics.ratio_diagnostics(ratios, 1.0)
  assert found.non_finite_share == pytest.approx(0.6)
  assert found.mean == 2.0
  assert found.largest == 3.0
  assert found.effective_sample_size == pytest.approx(1.6)  # 16 / 10.
  assert found.effective_share == pytest.approx(0.32)  # Of all five.
  assert found.negative_share == pytest.approx(0.2)


@pytest.mark.parametrize('ratios', [[], [_NAN, _INF]])
def test_nothing_finite(ratios):
  found = diagnostics.ratio_diagnostics(np.array(ratios), 1.0)
  assert found.num_ratios == len(ratios)
  for field in ('mean', 'effective_sample_size', 'effective_share', 'largest'):
    assert math.isnan(getattr(found, field)), field
  if ratios:
    assert found.non_finite_share == 1.0


def test_huge_ratios_do_not_overflow():
  found = diagnostics.ratio_diagnostics(np.array([1e200, 1e200, 0.0]), 1.0)
  assert found.effective_sample_size == pytest.approx(2.0)
  found = diagnostics.ratio_diagnostics(np.array([1.7e308, 1.7e308]), 1.0)
  assert found.mean == _INF


def test_zero_ratios_use_no_data():
  found = diagnostics.ratio_diagnostics(np.zeros(3), 1.0)
  assert found.effective_sample_size == 0.0
  assert found.mean == 0.0


def test_all_fields_are_plain_numbers():
  found = diagnostics.ratio_diagnostics(np.float32([1.0, 2.0]), np.float32(1))
  fields = dataclasses.asdict(found)
  assert json.loads(json.dumps(fields)) == fields  # Numpy's are refused.
