"""Tests of style: ruff's, and what ruff does not hold."""

import ast
import subprocess
import sys
import tokenize

import pytest

from tests import source_tree

_MAX_FILE_LINES = 400
_MAX_PROGRAM_LINES = 100
_MAX_FUNCTION_LINES = 80


def test_ruff():
  process = subprocess.run(
      [sys.executable, '-m', 'ruff', 'check', '--no-cache', '--quiet', '.'],
      capture_output=True,
      text=True,
      cwd=source_tree.ROOT,
      check=False,
  )
  assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize('path', source_tree.files())
def test_blocks_are_indented_by_two_spaces(path):
  depth = 0
  with (source_tree.ROOT / path).open('rb') as file:
    for token in tokenize.tokenize(file.readline):
      if token.type == tokenize.INDENT:
        depth += 1
        where = f'{path}:{token.start[0]}'
        assert token.string == '  ' * depth, where
      elif token.type == tokenize.DEDENT:
        depth -= 1


@pytest.mark.parametrize('path', source_tree.files())
def test_files_and_functions_are_short(path):
  num_lines = len((source_tree.ROOT / path).read_text().splitlines())
  is_program = source_tree.is_entry_point(path)
  assert num_lines <= (_MAX_PROGRAM_LINES if is_program else _MAX_FILE_LINES)
  for node in ast.walk(source_tree.tree(path)):
    if isinstance(node, ast.FunctionDef):
      length = node.end_lineno - node.lineno + 1
      assert length <= _MAX_FUNCTION_LINES, f'{path}: {node.name}'
