"""Writes BUILD, and the lock file it takes packages from, from the sources.

`python -m tests.build_file` writes BUILD again; with `--lock` also
tests/requirements_lock.txt, from what is installed.
"""

import functools
from importlib import metadata
import pathlib
import re
import sys
import textwrap

from packaging import requirements as requirements_lib

from tests import source_tree

PATH = source_tree.ROOT / 'BUILD'
_LOCK = 'tests/requirements_lock.txt'
LOCK = source_tree.ROOT / _LOCK
REQUIREMENTS = 'requirements.txt', 'tests/requirements.txt'
# Files that are no sources, and the target that reads them.
_DATA = {
    'pretrained': ('policies', 'srdice_tf/policies/pretrained'),
    'templates': ('reports', 'srdice_tf/reports/templates'),
}
_PYTEST = '@pypi//pytest', '@pypi//pytest_xdist'
_HEADER = """\
# One library for each package and each top-level module of srdice_tf, a binary
# for each program, a test for each directory of tests. Dependencies are the
# imports of the files; @pypi are the packages of tests/requirements_lock.txt.
# `python -m tests.build_file` writes this file, tests/build_test.py holds it.

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

package(default_visibility = ["//visibility:public"])
"""


def render() -> str:
  """Returns what BUILD should say."""
  sources = {}
  for path in source_tree.files():
    sources.setdefault(_target_of(path), []).append(path)
  targets = [
      _render(rule, name, paths) for (rule, name), paths in sources.items()
  ]
  groups = [_data_files(name, place) for name, (_, place) in _DATA.items()]
  return '\n'.join([_HEADER, *groups, *sorted(targets)])


def _data_files(name: str, place: str) -> str:
  shipped = (source_tree.ROOT / place).rglob('*.*')
  files = sorted(str(p.relative_to(source_tree.ROOT)) for p in shipped)
  return _call('filegroup', name=name, srcs=files)


def _target_of(path: str) -> tuple[str, str]:
  """Returns rule and name of the target that a source file belongs to."""
  parent = pathlib.PurePosixPath(path).parent.name
  stem = pathlib.PurePosixPath(path).stem
  if path.startswith('srdice_tf/'):
    return 'py_library', source_tree.unit(path)
  if path.endswith('_test.py'):
    return 'py_test', f'{parent}_test' if parent != 'tests' else 'whole_test'
  if path.startswith('tests/'):
    return 'py_library', 'testing'
  if source_tree.is_entry_point(path):
    return 'py_binary', stem
  return 'py_library', 'cli'


def _render(rule: str, name: str, paths: list[str]) -> str:
  attributes = {'name': name, 'srcs': paths}
  dependencies = _dependencies(name, paths)
  data = [f':{group}' for group, (owner, _) in _DATA.items() if owner == name]
  if data:
    attributes['data'] = data
  if name == 'testing':
    attributes['testonly'] = True
  if rule == 'py_binary':
    attributes['main'] = paths[0]
  if rule == 'py_test':
    # Run as a program, a file would define tests and run none.
    parents = {str(pathlib.PurePosixPath(path).parent) for path in paths}
    attributes |= {'args': sorted(parents), 'main_module': 'pytest'}
    dependencies = sorted({*dependencies, *_PYTEST, ':testing'})
  if name in ('binaries_test', 'whole_test'):
    # They start programs, or read the sources themselves.
    targets = {_target_of(path) for path in source_tree.files()}
    attributes['data'] = [
        'BUILD', 'CHANGELOG.md', 'LICENSE', 'MODULE.bazel', 'README.md',
        *REQUIREMENTS, _LOCK, 'pyproject.toml',
        *sorted(f':{other}' for kind, other in targets if kind != 'py_test'),
    ]
  return _call(rule, **attributes, deps=dependencies)


def _dependencies(name: str, paths: list[str]) -> list[str]:
  """Returns the labels of what the files of a target import."""
  ours = {_target_of(p)[1] for f in paths for p in source_tree.first_party(f)}
  theirs = set().union(*map(source_tree.third_party, paths))
  packages = {_distribution(n) for n in theirs - sys.stdlib_module_names}
  labels = {f':{other}' for other in ours - {name}}
  return sorted(labels) + sorted(f'@pypi//{_label(p)}' for p in packages)


_packages = functools.cache(metadata.packages_distributions)


def _distribution(module: str) -> str:
  """Returns the package that a module is installed by."""
  return _packages()[module][0]


def _label(package: str) -> str:
  return re.sub(r'[-_.]+', '_', package).lower()


def _call(rule: str, **attributes) -> str:
  lines = [f'{rule}(']
  for name, value in attributes.items():
    if isinstance(value, list):
      value = _list(value) if value else None
    elif isinstance(value, str):
      value = _quote(value)
    if value is not None:
      lines.append(f'    {name} = {value},')
  return '\n'.join([*lines, ')\n'])


def _list(values: list[str]) -> str:
  """Returns a list, by the names in it where all are of one directory."""
  parents = {value.rpartition('/')[0] for value in values}
  is_python = all(value.endswith('.py') for value in values)
  if len(values) > 2 and len(parents) == 1 and is_python:
    names = [pathlib.PurePosixPath(value).stem for value in values]
    pattern = _quote(f'{parents.pop()}/%s.py')
    return f'[{pattern} % name for name in {_list(names)}]'
  text = ', '.join(map(_quote, values))
  if len(text) < 60:
    return f'[{text}]'
  indent = ' ' * 8
  text = textwrap.fill(
      text, 80, initial_indent=indent, subsequent_indent=indent,
      break_long_words=False, break_on_hyphens=False,
  )
  return f'[\n{text},\n    ]'


def _quote(text: str) -> str:
  return f'"{text}"'


def requirements() -> list[requirements_lib.Requirement]:
  """Returns what the requirements files name."""
  lines = []
  for name in REQUIREMENTS:
    lines += (source_tree.ROOT / name).read_text().split('\n')
  wanted = (line.partition('#')[0].strip() for line in lines)
  return [
      requirements_lib.Requirement(line)
      for line in wanted
      if line and not line.startswith('-')
  ]


def lock() -> str:
  """Returns the installed versions of all that is required, directly or not."""
  found, todo = {}, [(each, '') for each in requirements()]
  while todo:
    each, extra = todo.pop()
    if each.marker and not each.marker.evaluate({'extra': extra}):
      continue
    key = _label(each.name), *sorted(each.extras)
    if key in found:
      continue
    package = metadata.distribution(each.name)
    found[key] = f'{package.name}=={package.version}'
    for extra in ('', *each.extras):
      needs = map(requirements_lib.Requirement, package.requires or ())
      todo += [(need, extra) for need in needs]
  return '\n'.join(sorted(set(found.values()), key=str.lower)) + '\n'


if __name__ == '__main__':
  PATH.write_text(render())
  if '--lock' in sys.argv[1:]:
    LOCK.write_text(lock())
