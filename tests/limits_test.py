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


def _write(directory, **files):
  directory.mkdir(parents=True)
  for name, text in files.items():
    (directory / name.replace('__', '.')).write_text(text)


@pytest.mark.parametrize('path', ['/', '/docker/1', '/not/seen/here'])
def test_the_limit_of_a_container(tmp_path, path):
  groups = tmp_path / 'cgroup'
  groups.write_text(f'3:cpu:/x\n0::{path}\n')
  root = tmp_path / 'fs'
  _write(
      root, memory__max='1000\n', memory__current='700\n',
      memory__stat='anon 500\ninactive_file 150\n',
  )
  _write(
      root / 'docker' / '1', memory__max='max\n', memory__current='700\n',
      memory__stat='',
  )
  assert list(limits._left_to_groups(groups, root)) == [450]


def test_the_limit_of_a_container_of_the_first_version(tmp_path):
  groups = tmp_path / 'cgroup'
  groups.write_text('4:memory:/slice\n0::/\n')
  files = {
      'memory__usage_in_bytes': '300', 'memory__stat': 'total_inactive_file 0'
  }
  root = tmp_path / 'fs' / 'memory'
  _write(root, memory__limit_in_bytes='9223372036854771712', **files)
  _write(root / 'slice', memory__limit_in_bytes='200', **files)
  found = list(limits._left_to_groups(groups, root.parent))
  assert found == [0, 9223372036854771712 - 300]
  assert not list(limits._left_to_groups(tmp_path / 'none', root))


def test_a_container_has_no_more_than_its_machine(monkeypatch):
  free = limits.available_bytes()
  monkeypatch.setattr(limits, '_left_to_groups', lambda: iter([10**18, 12345]))
  assert free > 12345 and limits.available_bytes() == 12345
