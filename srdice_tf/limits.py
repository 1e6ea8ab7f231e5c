"""Refuses what does not fit the memory before any work, with the limit."""

import bisect
from collections.abc import Callable
import os

from srdice_tf import errors

MOST_ENVS = 10_000  # More would take hours to make and to reset.


def check_memory(field: str, value: int, needed: Callable[[int], int]):
  """Raises an error if a size needs more memory than there is.

  Args:
    field: name of the setting.
    value: of the setting.
    needed: bytes that a value needs at least; it grows with the value.

  Raises:
    UserError: which names the largest value that fits.
  """
  available = available_bytes()
  if needed(value) <= available:
    return
  values = range(min(value, available))  # Each of them needs a byte at least.
  most = bisect.bisect_right(values, available, key=needed) - 1
  raise errors.UserError(
      field,
      value,
      f'needs {needed(value) / 2**30:,.1f} GiB of memory, of which'
      f' {available / 2**30:,.1f} are free; expected at most {max(most, 0)}',
  )


def available_bytes() -> int:
  """Returns the memory that is free or can be freed."""
  try:
    with open('/proc/meminfo') as file:
      fields = dict(line.split(':') for line in file)
    return 1024 * int(fields['MemAvailable'].split()[0])
  except (OSError, KeyError):
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
