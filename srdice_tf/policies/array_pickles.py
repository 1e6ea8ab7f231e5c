"""Reads pickles of numpy arrays without running anything that is in them.

A pickle names functions for the reader to call. Here only the few names that
numpy writes for its arrays are known, and they mean functions of this module,
which only keep what they are given; any other name is refused before it is
looked up. Arrays are made from the bytes afterwards.
"""

from collections.abc import Callable
import math
import pickle
import re
from typing import Any

import numpy as np

# Floats, whole numbers and texts; no objects, no records.
_TYPES = re.compile(r'[fiu][1248]|[US][1-9]\d{0,3}|b1')


def load(file) -> Any:
  """Returns what is in a pickle of containers, numbers, texts and arrays.

  Raises:
    UnpicklingError: if anything else is in it.
    Exception: of other kinds, if it is damaged.
  """
  return _plain(_Reader(file, encoding='latin1').load())


class _Reader(pickle.Unpickler):
  """Knows the names that numpy writes, of numpy 1 and 2."""

  def find_class(self, module: str, name: str):
    module = module.replace('numpy._core.', 'numpy.core.')
    make = {
        ('numpy.core.multiarray', '_reconstruct'): _empty,
        ('numpy.core.multiarray', 'scalar'): _scalar,
        ('numpy.core.numeric', '_frombuffer'): _from_buffer,
        ('numpy', 'ndarray'): _nothing,
        ('numpy', 'dtype'): _StoredType,
        ('_codecs', 'encode'): _encode,
    }.get((module, name))
    if make is None:
      raise pickle.UnpicklingError(
          f'it names {module}.{name}, which is not loaded'
      )
    return _Call(make)


class _Call:
  """A function that a pickle can call but not change."""

  __slots__ = ('_make',)

  def __init__(self, make: Callable):
    self._make = make

  def __call__(self, *args):
    return self._make(*args)

  def __setstate__(self, state):
    raise pickle.UnpicklingError('it changes a function')


class _StoredType:
  """A numpy type, as its code and the order of bytes."""

  def __init__(self, code, *flags):
    del flags
    if not isinstance(code, str) or not _TYPES.fullmatch(code):
      raise pickle.UnpicklingError(f'it has an array of type {code!r:.40}')
    self._code = code
    self._order = '='

  def __setstate__(self, state):
    self._order = state[1] if state[1] in ('<', '>', '=', '|') else '='

  def dtype(self) -> np.dtype:
    return np.dtype(self._order + self._code)


class _StoredArray:
  """An array, as its type, shape and bytes."""

  def __init__(self):
    self._parts = None

  def __setstate__(self, state):
    _, shape, stored_type, is_fortran, data = state
    self._parts = data, stored_type, shape, 'F' if is_fortran else 'C'

  @classmethod
  def of(cls, *parts) -> '_StoredArray':
    array = cls()
    array._parts = parts
    return array

  def array(self) -> np.ndarray:
    data, stored_type, shape, order = self._parts
    data = data.encode('latin1') if isinstance(data, str) else bytes(data)
    dtype = stored_type.dtype()
    if len(data) != math.prod(shape) * dtype.itemsize:
      raise pickle.UnpicklingError('an array has not as many bytes as numbers')
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _empty(*args) -> _StoredArray:
  del args  # Class, shape and type of an array that is still to be filled.
  return _StoredArray()


def _scalar(stored_type, data) -> _StoredArray:
  return _StoredArray.of(data, stored_type, (), 'C')


def _from_buffer(data, stored_type, shape, order) -> _StoredArray:
  return _StoredArray.of(data, stored_type, shape, order)


def _nothing(*args):
  raise pickle.UnpicklingError(f'it makes an array of {args!r:.40}')


def _encode(text, encoding='latin1', *args) -> bytes:
  del args
  if encoding != 'latin1':
    raise pickle.UnpicklingError(f'it encodes as {encoding!r:.40}')
  return text.encode('latin1')


def _plain(value):
  """Returns a value with its stored arrays as arrays."""
  if isinstance(value, _StoredArray):
    return value.array()
  if isinstance(value, dict):
    return {key: _plain(item) for key, item in value.items()}
  if isinstance(value, list | tuple):
    return [_plain(item) for item in value]
  if value is None or isinstance(value, bool | int | float | str | bytes):
    return value
  raise pickle.UnpicklingError(f'it has a {type(value).__name__}')
