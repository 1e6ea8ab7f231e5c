"""Ranges of settings, written beside their fields and checked here.

A config reads `tau: float = ranges.share(0.005)` and calls `ranges.check(self)`
in `__post_init__`, so that the same limits hold for flags and library calls.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import math
import numbers
import types
import typing

from srdice_tf import errors

_KEY = 'range'
_MAX_SEED = 2**31 - 1
# TensorFlow's numbers: int32, and float32, in which more is infinite.
_MAX_WHOLE, _MAX_REAL = 2**31 - 1, 3e38
_REQUIRED = dataclasses.MISSING
_KINDS = {
    int: (numbers.Integral, 'a whole number'),
    float: (numbers.Real, 'a number'),
    bool: (bool, 'True or False'),
    str: (str, 'text'),
}


@dataclasses.dataclass(frozen=True)
class Range:
  """What a setting may be, as a test and in words."""

  holds: Callable[[object], bool]
  words: str


def at_least(low, default=_REQUIRED):
  """A field of numbers not below `low`."""
  return _field(default, lambda x: x >= low, f'at least {low:,}')


def positive(default=_REQUIRED):
  """A field of numbers above 0."""
  return _field(default, lambda x: x > 0, 'above 0')


def between(low, high, default=_REQUIRED):
  """A field of numbers from `low` to `high`, both included."""
  words = f'from {low:,} to {high:,}'
  return _field(default, lambda x: low <= x <= high, words)


def share(default=_REQUIRED):
  """A field of numbers from 0 to 1, both included."""
  return between(0, 1, default)


def rate(default=_REQUIRED):
  """A field of numbers above 0, up to 1."""
  return _field(default, lambda x: 0 < x <= 1, 'above 0, at most 1')


def seed(default=_REQUIRED):
  """A field of seeds."""
  return between(0, _MAX_SEED, default)


def inside(low, high, default=_REQUIRED):
  """A field of numbers between `low` and `high`, neither included."""
  words = f'between {low:,} and {high:,}'
  return _field(default, lambda x: low < x < high, words)


def one_of(choices, default=_REQUIRED):
  """A field whose values are listed."""
  words = f'one of {", ".join(map(str, choices))}'
  return _field(default, lambda x: x in choices, words)


def _field(default, holds, words):
  metadata = {_KEY: Range(holds, words)}
  if default is _REQUIRED:
    return dataclasses.field(metadata=metadata)
  return dataclasses.field(default=default, metadata=metadata)


def check(config):
  """Checks each field of a dataclass: its type, then its range.

  Numbers must be finite. A field of `float | None` may be None. Fields of other
  types than numbers, booleans and text are not checked.

  Raises:
    UserError: naming the first field that is wrong, and what was expected.
  """
  for field in dataclasses.fields(config):
    value = getattr(config, field.name)
    found = field.metadata.get(_KEY)
    field_type = field.type
    if isinstance(field_type, types.UnionType):
      if value is None:
        continue
      field_type = typing.get_args(field_type)[0]
    kind, words = _KINDS.get(field_type, (object, ''))
    expected = ' '.join(filter(None, [words, found.words if found else '']))
    if not _is_of(value, kind) or (found and not found.holds(value)):
      raise errors.UserError(field.name, value, f'expected {expected}')
    _check_size(field.name, value)


def check_list(name: str, values: Collection):
  """Checks that a list has members, each of them once.

  Raises:
    UserError: if not; the list is named.
  """
  shown = ','.join(map(str, values))
  if not values:
    raise errors.UserError(name, '', 'expected at least one')
  (value, count), *_ = collections.Counter(values).most_common()
  if count > 1:
    found = f'{value} is there {count} times; expected once'
    raise errors.UserError(name, shown, found)


def check_seeds(seeds: Collection[int]):
  """Checks the seeds of several runs."""
  check_list('seed', seeds)
  for value in (min(seeds), max(seeds)):
    if not 0 <= value <= _MAX_SEED:
      expected = f'expected all seeds from 0 to {_MAX_SEED:,}'
      raise errors.UserError('seed', value, expected)


def _check_size(name: str, value):
  """Raises an error if TensorFlow has no such number."""
  if not isinstance(value, numbers.Real):
    return
  is_whole = isinstance(value, numbers.Integral)
  most = _MAX_WHOLE if is_whole else _MAX_REAL
  if abs(value) > most:
    raise errors.UserError(name, value, f'expected at most {most:,}')


def _is_of(value, kind) -> bool:
  if kind in (numbers.Integral, numbers.Real):
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and math.isfinite(value)
  return isinstance(value, kind)
