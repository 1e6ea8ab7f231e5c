"""Tests that each setting of the estimators is held to its range."""

import dataclasses
import math

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import hyperparameters


@dataclasses.dataclass(frozen=True)
class _Example:
  """One field of each kind."""

  size: int = ranges.at_least(1)
  rate: float = ranges.positive(0.5)
  share: float = ranges.share(0.5)
  tau: float = ranges.rate(0.5)
  gamma: float = ranges.inside(0, 1, 0.9)
  kind: str = ranges.one_of(('a', 'b'), 'a')
  is_on: bool = False
  free: float = 0.0
  unset: float | None = ranges.share(None)

  def __post_init__(self):
    ranges.check(self)


@pytest.mark.parametrize(
    'field, value, expected',
    [
        ('size', 0, 'a whole number at least 1'),
        ('size', 1.0, 'a whole number at least 1'),
        ('size', True, 'a whole number at least 1'),
        ('size', None, 'a whole number at least 1'),
        ('rate', 0.0, 'a number above 0'),
        ('rate', math.nan, 'a number above 0'),
        ('rate', math.inf, 'a number above 0'),
        ('share', 1.1, 'a number from 0 to 1'),
        ('tau', 0.0, 'a number above 0, at most 1'),
        ('tau', 1.1, 'a number above 0, at most 1'),
        ('gamma', 1.0, 'a number between 0 and 1'),
        ('kind', 'c', 'text one of a, b'),
        ('is_on', 1, 'True or False'),
        ('free', math.nan, 'a number'),
        ('free', '0', 'a number'),
        ('unset', -0.1, 'a number from 0 to 1'),
        ('unset', math.nan, 'a number from 0 to 1'),
    ],
)
def test_what_is_out_of_range_is_named(field, value, expected):
  fields = {'size': 1, field: value}
  with pytest.raises(errors.UserError) as error:
    _Example(**fields)
  assert str(error.value) == f'{field}={value}: expected {expected}.'


def test_what_is_in_range_passes():
  _Example(size=np.int64(3), rate=1, share=0, gamma=np.float32(0.5), kind='b')
  _Example(size=1, unset=0.0, tau=1)


@pytest.mark.parametrize('field', ['size', 'rate'])
def test_numbers_that_tensorflow_does_not_have_are_refused(field):
  value = {'size': 2**31, 'rate': 1e39}[field]
  with pytest.raises(errors.UserError, match=f'^{field}=.*at most'):
    _Example(**{'size': 1, field: value})


_FIELDS = [
    field
    for field, _ in hyperparameters.fields().values()
    if field.type in (int, float)
]


@pytest.mark.parametrize('field', _FIELDS, ids=lambda field: field.name)
def test_each_number_of_the_estimators_has_a_range(field):
  for value in (-1, math.nan, math.inf):
    with pytest.raises(errors.UserError, match=f'^{field.name}='):
      hyperparameters.Hyperparameters(**{field.name: value})


@pytest.mark.parametrize(
    'name',
    [
        'num_features', 'start_pool', 'hidden_units', 'batch_size',
        'ratio_batch_size',
    ],
)
def test_sizes_that_cannot_fit_the_memory_are_refused(name):
  with pytest.raises(errors.UserError, match=rf'^{name}=\d+: needs .*at most'):
    hyperparameters.Hyperparameters(**{name: 2**31 - 1})


def test_a_target_network_that_never_follows_is_refused():
  with pytest.raises(errors.UserError, match='tau=0: expected .*above 0'):
    hyperparameters.Hyperparameters(tau=0)


def test_draws_that_would_take_hours_are_refused():
  with pytest.raises(errors.UserError, match='from 0 to 100,000'):
    hyperparameters.Hyperparameters(bootstrap_draws=10**7)


def test_lists_have_members_each_once():
  ranges.check_list('algo', ('a', 'b'))
  with pytest.raises(errors.UserError, match='^algo=: expected at least one'):
    ranges.check_list('algo', ())
  with pytest.raises(errors.UserError, match='^algo=a,b,a: a is there 2'):
    ranges.check_list('algo', ('a', 'b', 'a'))


def test_seeds_of_several_runs():
  ranges.check_seeds(range(5))
  with pytest.raises(errors.UserError, match='^seed=2147483648: expected'):
    ranges.check_seeds(range(2**31 - 2, 2**31 + 1))
