"""Tests that BUILD says what the sources say."""

import re

from tests import build_file
from tests import source_tree

_BUILD = build_file.PATH.read_text()


def test_build_is_what_the_sources_call_for():
  assert build_file.render() == _BUILD, (
      'python -m tests.build_file writes BUILD again'
  )


def _targets():
  """Returns what the calls in BUILD say, by name."""
  found = {}
  add = lambda **fields: found.update({fields['name']: fields})
  rules = 'filegroup', 'py_library', 'py_binary', 'py_test'
  ignore = lambda *args, **fields: None
  names = {**dict.fromkeys(rules, add), 'load': ignore, 'package': ignore}
  exec(compile(_BUILD, 'BUILD', 'exec'), names)  # Starlark is Python here.
  return found


def test_each_file_is_in_one_target():
  sources = [src for t in _targets().values() for src in t['srcs']]
  python = [path for path in sources if path.endswith('.py')]
  assert sorted(python) == source_tree.files()
  assert all((source_tree.ROOT / path).is_file() for path in sources)


def test_labels_exist():
  assert {*re.findall(r'":(\w+)"', _BUILD)} <= _targets().keys()
  locked = {
      build_file._label(line.partition('==')[0])
      for line in build_file.LOCK.read_text().split()
  }
  assert {*re.findall(r'"@pypi//(\w+)"', _BUILD)} <= locked


def test_names_are_unique():
  names = re.findall(r'^    name = "(\w+)",$', _BUILD, re.MULTILINE)
  assert sorted(names) == sorted(_targets())


def test_the_lock_has_the_versions_that_are_required():
  locked = build_file.LOCK.read_text().lower().split()
  for required in build_file.requirements():
    assert f'{required.name}{required.specifier}'.lower() in locked


def test_the_module_takes_packages_from_the_lock():
  module = (source_tree.ROOT / 'MODULE.bazel').read_text()
  assert 'hub_name = "pypi"' in module
  lock = build_file.LOCK.relative_to(source_tree.ROOT)
  assert f'requirements_lock = "//:{lock}"' in module
