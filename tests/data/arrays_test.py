"""Tests that arrays which are no data are refused in one line."""

import numpy as np
import pytest

from srdice_tf import data
from srdice_tf import errors

# An episode of three states and one of two.
_ROWS = {
    'rows': np.array([0, 1, 2, 0, 1]),
    'step_types': np.array([0, 1, 1, 0, 1]),
    'actions': np.array([0, 1, 0, 0, 1]),
    'rewards': np.array([0.0, 1.0, 2.0, 0.0, 1.0]),
    'not_done': np.ones(5),
}


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'rows': list('abcde')}, 'rows are of <U1; expected'),
        ({'rows': [[1], [1, 2], [3], [4], [5]]}, 'rows are of object'),
        ({'rows': np.arange(5) * 1j}, 'rows are of complex128'),
        ({'rows': None}, 'rows are of object'),
        ({'rows': 7}, 'rows are a single number'),
        ({'actions': ['left'] * 5}, 'actions are of <U4'),
        ({'rewards': [None] * 5}, 'rewards are of object'),
        ({'rewards': np.ones((5, 2))}, r'rewards have the shape \(5, 2\)'),
        ({'actions': np.zeros(4, int)}, r'actions have the shape \(4,\), rows'),
        ({'step_types': [0, 1, 3, 0, 1]}, 'step_types has the value 3'),
        ({'step_types': [1, 1, 1, 0, 1]}, 'row 0 begins an episode'),
        ({'step_types': [0, 2, 1, 0, 1]}, 'row 2 begins an episode'),
    ],
)
def test_arrays_that_are_no_data(fields, message):
  with pytest.raises(errors.UserError, match=f'data set: .*{message}'):
    data.Dataset.from_rows(**{**_ROWS, **fields})
