"""Tests that data which cannot be used are refused in one line."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.data import check
from tests import walk

_STATES = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 4)
_CHOICES = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 1)


def _dataset(**fields):
  """An episode of three states and one of two."""
  return data.Dataset.from_rows(**{
      'rows': np.array([0, 1, 2, 0, 1]),
      'step_types': np.array([0, 1, 1, 0, 1]),
      'actions': np.array([0, 1, 0, 0, 1]),
      'rewards': np.array([0.0, 1.0, 2.0, 0.0, 1.0]),
      'not_done': np.ones(5),
      **fields,
  })


def test_usable_data_pass():
  check.check_usable(walk.dataset(seed=0))
  check.check_usable(_dataset())
  check.check_specs(_dataset(), _STATES, _CHOICES)


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'rewards': [0, np.nan, 0, 0, 0]}, '1 values of rewards are NaN'),
        ({'rewards': [0, 1e300, 0, 0, 0]}, 'rewards are NaN or infinite'),
        ({'actions': np.full((5, 1), np.inf)}, '3 values of actions are NaN'),
        ({'rows': np.full((5, 2), np.nan)}, 'values of states are NaN'),
        ({'not_done': np.full(5, np.nan)}, '3 values of not_done are NaN'),
        ({'not_done': np.full(5, 0.99)}, 'not_done has the value 0.99.*0 or 1'),
        ({'log_probabilities': np.full(5, -np.inf)}, '3 values of log_prob'),
        ({'step_types': np.zeros(5)}, 'there are no transitions'),
    ],
)
def test_unusable_data(fields, message):
  with pytest.raises(errors.UserError, match=f'^somewhere: .*{message}') as e:
    check.check_usable(_dataset(**fields), 'somewhere')
  assert '\n' not in str(e.value)


def test_a_start_state_is_checked_even_if_no_transition_leaves_it():
  rows = np.array([[0.0], [1.0], [np.inf]])
  dataset = _dataset(
      rows=rows, step_types=[0, 2, 0], actions=[0, 0, 0], rewards=[0, 0, 0],
      not_done=[1, 1, 1],
  )
  with pytest.raises(errors.UserError, match='1 values of states are NaN'):
    check.check_usable(dataset)


@pytest.mark.parametrize(
    'value, kind', [([1], 'list'), (None, 'NoneType'), (int, 'the class int')]
)
def test_what_is_no_data_set(value, kind):
  expected = f'data: found {kind}; expected a data.Dataset.'
  with pytest.raises(errors.UserError, match=expected):
    check.check_usable(value, 'data')


@pytest.mark.parametrize(
    'fields, message',
    [
        ({'rows': [0, 1, 5, 0, 1]}, 'states has the value 5.*from 0 to 4'),
        ({'rows': [0, 1, -1, 0, 1]}, 'states has the value -1'),
        ({'rows': [0, 1, 2, 9, 1]}, 'states has the value 9'),
        ({'actions': [0, 1, 2, 0, 1]}, 'actions has the value 2.*from 0 to 1'),
        ({'actions': [0, -1, 1, 0, 1]}, 'actions has the value -1'),
        ({'rows': np.zeros(5)}, r'int64\[\], the data .*float32\[\]'),
        ({'actions': np.zeros(5)}, r'int64\[\], the data .*float32\[\]'),
    ],
)
def test_data_that_are_not_of_the_policy(fields, message):
  with pytest.raises(errors.UserError, match=message):
    check.check_specs(_dataset(**fields), _STATES, _CHOICES)


def test_numbers_of_starts_are_in_range_too():
  dataset = dataclasses.replace(_dataset(), starts=tf.constant([0, 4]))
  check.check_specs(dataset, _STATES, _CHOICES)
  dataset = _dataset(rows=[0, 1, 2, 0, 7])
  dataset = dataclasses.replace(
      dataset.of_episodes(np.array([0])), starts=tf.constant([4])
  )
  with pytest.raises(errors.UserError, match='states has the value 7'):
    check.check_specs(dataset, _STATES, _CHOICES)
