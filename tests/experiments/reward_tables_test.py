"""Tests for the tables of random rewards, by hand."""

import numpy as np
import pytest

from srdice_tf import results
from srdice_tf.experiments import reward_tables


def test_a_row_for_each_method():
  numbers, ones = np.arange(4), np.ones(4)
  log_mses = {
      'srdice': np.array([-3.0, -1.0, -1.0, -4.0]),
      'dual_dice': np.array([-1.0, -2.0, np.nan, -3.0]),
      'behaviour': np.array([-2.0, -3.0, -2.0, -3.0]),
  }
  study = results.RandomRewards(
      'A', 'hard', 3, numbers, ones, ones, ones, dict.fromkeys(log_mses, ones),
      log_mses,
  )
  frame = reward_tables.frame(study).set_index('method')
  assert (frame['env'] == 'A').all() and (frame['seed'] == 3).all()
  assert frame['rewards'].to_dict() == {
      'srdice': 4, 'dual_dice': 3, 'behaviour': 4
  }
  assert frame.loc['srdice', 'mean_log_mse'] == pytest.approx(-2.25)
  assert frame.loc['srdice', 'std_log_mse'] == pytest.approx(1.5)
  assert frame.loc['dual_dice', 'mean_log_mse'] == pytest.approx(-2.0)
  assert frame.loc['dual_dice', 'std_log_mse'] == pytest.approx(1.0)
