"""Tests for the limits that the memory sets."""

import pytest

from srdice_tf import errors
from srdice_tf import limits


def test_the_largest_value_that_fits_is_named(monkeypatch):
  monkeypatch.setattr(limits, 'available_bytes', lambda: 1000)
  square = lambda size: 8 * size * size
  limits.check_memory('size', 11, square)
  with pytest.raises(errors.UserError, match='^size=12: .* at most 11.'):
    limits.check_memory('size', 12, square)
  with pytest.raises(errors.UserError, match='at most 11.'):
    limits.check_memory('size', 10**30, square)
  with pytest.raises(errors.UserError, match='at most 0.'):
    limits.check_memory('size', 1, lambda size: 2000 * size)
