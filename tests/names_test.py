"""Tests that names tell things apart, and that the library knows no flags."""

import ast
import collections
import os
import re

import pytest

from tests import source_tree

_LIBRARY = [p for p in source_tree.files() if p.startswith('srdice_tf/')]
# A flag in a text; a line of dashes and the arguments of programs are none.
_FLAG = re.compile(r'(?<![\w-])--[a-z]\w*(?!\w*\.py)')


def _twice(places) -> dict:
  return {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_is_defined_twice():
  places = collections.defaultdict(list)
  for path in _LIBRARY:
    for node in source_tree.tree(path).body:
      if isinstance(node, ast.ClassDef):
        places[node.name].append(path)
  assert not _twice(places)


def test_no_module_has_the_name_of_another():
  places = collections.defaultdict(list)
  for path in _LIBRARY:
    directory, name = os.path.split(path)
    if name == '__init__.py':
      directory, name = os.path.split(directory)
    places[name.removesuffix('.py')].append(path)
  assert not _twice(places)


@pytest.mark.parametrize(
    'path', [p for p in source_tree.files() if not p.startswith('tests/')]
)
def test_no_module_needs_another_name(path):
  for node in ast.walk(source_tree.tree(path)):
    if isinstance(node, ast.ImportFrom) and node.module.startswith(
        ('srdice_tf', 'binaries')
    ):
      renamed = [alias.asname for alias in node.names if alias.asname]
      assert not renamed, f'{path}:{node.lineno}: {renamed}'


def _texts(path):
  """Yields the strings of a file that are not docstrings."""
  tree, docs = source_tree.tree(path), set()
  for node in ast.walk(tree):
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
      docs.add(node.value)
  for node in ast.walk(tree):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
      if node not in docs:
        yield node.lineno, node.value


# Commands that are shown to people, and tools that are called.
_COMMANDS = (
    'srdice_tf/reports/',
    'srdice_tf/benchmarks/',
    'srdice_tf/agents/shipping.py',
)


@pytest.mark.parametrize(
    'path', [p for p in _LIBRARY if not p.startswith(_COMMANDS)]
)
def test_library_text_names_no_flags(path):
  for line, text in _texts(path):
    assert not _FLAG.search(text), f'{path}:{line}: {text}'


def test_the_pattern_finds_flags():
  assert _FLAG.search('see --dataset_dir=x') and _FLAG.search('--env: no')
  assert not _FLAG.search('a -- b') and not _FLAG.search('---')
