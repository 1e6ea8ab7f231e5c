"""Tests for the last word on results that are not finite."""

import types

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf.reports import chain_table
from srdice_tf.reports import not_finite
from srdice_tf.reports import study


def test_names_what_is_not_finite():
  not_finite.check({'a': 1.0}, 'here')
  values = {'a': 1.0, 'b': float('nan'), 'c': float('inf')}
  with pytest.raises(errors.NotFiniteError, match='of b, c; .* in here'):
    not_finite.check(values, 'here')


def test_a_study_names_the_runs():
  result = types.SimpleNamespace(method='dual_dice', estimate=float('nan'))
  run = types.SimpleNamespace(env_id='X', seed=3, results=[result])
  with pytest.raises(errors.NotFiniteError, match='dual_dice on X seed 3'):
    study.check_finite([run], 'study.csv')


def test_a_chain_names_the_curves():
  curve = types.SimpleNamespace(
      method='srdice', features='tabular', log_mse=np.array([[0.0], [np.nan]])
  )
  with pytest.raises(errors.NotFiniteError, match='srdice with tabular'):
    chain_table.check_finite([curve], 'run')
