"""Refuses what does not fit the memory before any work, with the limit."""

import bisect
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import pathlib

from srdice_tf import errors

_STAT = 'memory.stat'
# By the controllers of a group, as version 2 and version 1 name them: where it
# is, its limit, what it uses, and what of that is cache and can be freed.
_CONTROLLERS = {
    '': ('', 'memory.max', 'memory.current', 'inactive_file'),
    'memory': (
        'memory', 'memory.limit_in_bytes', 'memory.usage_in_bytes',
        'total_inactive_file',
    ),
}
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
  """Returns the memory that is free, or can be freed, to this process."""
  try:
    with open('/proc/meminfo') as file:
      fields = dict(line.split(':') for line in file)
    free = 1024 * int(fields['MemAvailable'].split()[0])
  except (OSError, KeyError):
    free = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
  return min([free, *_left_to_groups()])


def _left_to_groups(
    groups: str = '/proc/self/cgroup', root: str = '/sys/fs/cgroup'
) -> Iterator[int]:
  """Yields the memory that is left to each control group of this process."""
  try:
    with open(groups) as file:
      lines = [line.strip().split(':', 2) for line in file]
  except OSError:
    return
  for _, controllers, path in lines:
    if controllers not in _CONTROLLERS:
      continue
    top, limit, usage, cache = _CONTROLLERS[controllers]
    group = pathlib.PurePath(path.lstrip('/'))
    for each in (group, *group.parents):
      directory = os.path.join(root, top, each)
      # A group of another container is not seen; 'max' is no limit.
      with contextlib.suppress(OSError, ValueError):
        most = int(_read(directory, limit))
        stat = dict(map(str.split, _read(directory, _STAT).splitlines()))
        used = int(_read(directory, usage)) - int(stat.get(cache, 0))
        yield max(0, most - used)


def _read(directory: str, name: str) -> str:
  with open(os.path.join(directory, name)) as file:
    return file.read()
