"""Tests for the last word on results that are not finite."""

import types

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.reports import chain_table
from srdice_tf.reports import comparison
from srdice_tf.reports import not_finite


def test_names_what_is_not_finite():
  not_finite.check({'a': 1.0}, 'here')
  values = {'a': 1.0, 'b': float('nan'), 'c': float('inf')}
  with pytest.raises(errors.NotFiniteError, match='of b, c; .* in here'):
    not_finite.check(values, 'here')


def test_the_runs_are_named_if_there_are_several():
  runs = [
      results.Evaluation(
          {'dual_dice': results.MethodResult('dual_dice', value)},
          0.99,
          seed,
          env_id='X',
      )
      for seed, value in ((2, 1.0), (3, float('nan')))
  ]
  with pytest.raises(errors.NotFiniteError, match='of dual_dice on X seed 3;'):
    comparison.check_finite(runs, 'results.csv')


def test_a_chain_names_the_curves():
  curve = types.SimpleNamespace(
      method='srdice', features='tabular', log_mse=np.array([[0.0], [np.nan]])
  )
  with pytest.raises(errors.NotFiniteError, match='srdice with tabular'):
    chain_table.check_finite([curve], 'run')
