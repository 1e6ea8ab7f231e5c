"""Tests that imports go one way, and that some modules keep to some places."""

import ast
import graphlib

import pytest

from tests import source_tree

# What each part of srdice_tf may import. A new part needs a line here.
_BASE = {
    'errors', 'results', 'finite', 'memory', 'checksums', 'ranges', 'csv_file',
    'locks', 'limits', 'commands', 'recommendation',
}
_DATA = _BASE | {'environments', 'policies', 'replay', 'data'}
_SERVICES = {'logging', 'interrupts', 'config_file', 'checkpoints'}
_ALLOWED = {
    'srdice_tf': set(),
    'errors': set(),
    'commands': set(),
    'recommendation': set(),
    'results': {'errors', 'recommendation'},
    'finite': set(),
    'memory': set(),
    'checksums': {'errors'},
    'ranges': {'errors'},
    'csv_file': {'errors'},
    'locks': {'errors'},
    'limits': {'errors'},
    'logging': _BASE,
    'interrupts': {'logging'},
    'console': {'commands', 'logging'},
    'config_file': _BASE,
    'checkpoints': _BASE | {'config_file'},
    # Estimation.
    'losses': _BASE,
    'networks': _BASE | {'losses'},
    'estimators': _BASE | {'losses', 'networks', 'evaluation'},
    'training': _BASE | {'losses', 'networks', 'estimators'} | _SERVICES,
    # Data.
    'environments': _BASE,
    'policies': _BASE | {'networks'},
    'replay': _BASE,
    'data': _BASE | {'replay', 'environments'},
    'collection': _DATA | _SERVICES,
    'evaluation': _DATA | _SERVICES,
    'agents': _DATA | _SERVICES | {'networks', 'evaluation'},
}
# Reports know results, not how they were found.
_ALLOWED['reports'] = {'errors', 'results', 'commands', 'evaluation'}
for _part in ('experiments', 'api', 'benchmarks', 'binaries'):
  _ALLOWED[_part] = set(_ALLOWED)  # All above.

_ALLOWED['tutorial'] = {'api'}  # As what people write.

_LIBRARY = [p for p in source_tree.files() if p.startswith('srdice_tf/')]
_PROGRAMS = [p for p in source_tree.files() if p.startswith('binaries/')]


def _of(*parts):
  return [path for path in _LIBRARY if source_tree.unit(path) in parts]


def _not_of(*parts):
  return [path for path in _LIBRARY if source_tree.unit(path) not in parts]


def test_the_table_has_no_cycle():
  graphlib.TopologicalSorter(_ALLOWED).prepare()


@pytest.mark.parametrize('path', _LIBRARY + _PROGRAMS)
def test_imports_go_one_way(path):
  part = source_tree.unit(path)
  imported = {source_tree.unit(p) for p in source_tree.first_party(path)}
  assert imported - {part} <= _ALLOWED[part]


@pytest.mark.parametrize('path', _of('estimators', 'losses', 'networks'))
def test_estimators_know_neither_replay_nor_environments(path):
  for used in source_tree.closure(path):
    assert not source_tree.third_party(used) & {'reverb', 'gymnasium'}, used


@pytest.mark.parametrize(
    'path', [path for path in _of('data') if '/sources/' not in path]
)
def test_data_know_no_source(path):
  for used in source_tree.closure(path):
    assert not source_tree.third_party(used) & {'reverb', 'gymnasium'}, used
    assert source_tree.unit(used) not in ('replay', 'environments'), used


@pytest.mark.parametrize('path', _LIBRARY)
def test_flags_are_for_programs_only(path):
  names = source_tree.imported_names(path)
  assert not {n for n in names if n.startswith(('absl.flags', 'absl.app'))}


@pytest.mark.parametrize(
    'path', _not_of('logging', 'reports', 'benchmarks', 'tutorial')
)
def test_only_logging_and_reports_speak(path):
  for node in ast.walk(source_tree.tree(path)):
    if isinstance(node, ast.Name | ast.Attribute):
      name = ast.unparse(node)
      where = f'{path}:{node.lineno}: {name}'
      assert name not in ('print', 'sys.stdout', 'tf.summary'), where


@pytest.mark.parametrize(
    'path', [path for path in _PROGRAMS if source_tree.is_entry_point(path)]
)
def test_programs_are_quiet_before_other_imports(path):
  body = [ast.unparse(node) for node in source_tree.tree(path).body]
  before = body[: body.index('console.start(__file__)')]
  imports = [line for line in before if line.startswith(('import', 'from'))]
  assert imports == ['from srdice_tf import console']
