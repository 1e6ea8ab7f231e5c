"""Tests that BUILD says what the sources say."""

import collections
import graphlib

import pytest

from tests import build_file
from tests import source_tree

_HINT = 'python -m tests.build_file writes BUILD anew; expected:\n\n'


def _targets(calls):
  """Returns the Python targets among the calls of a BUILD file."""
  return [
      build_file.Target(
          rule,
          keywords['name'],
          keywords.get('srcs', []),
          keywords.get('deps', []),
          keywords.get('data', []),
      )
      for rule, _, keywords in calls
      if rule in build_file.RULES
  ]


def _problems(text):
  """Returns what is wrong with a BUILD file, as (what, expected) pairs."""
  calls = build_file.evaluate(text)
  targets = _targets(calls)
  owners = collections.Counter(src for t in targets for src in t.srcs)
  expected = {target.name: target for target in build_file.expected()}
  problems = []
  for path in sorted(owners.keys() | set(source_tree.files())):
    if owners[path] != 1 or not (source_tree.ROOT / path).exists():
      problems.append((f'{path} is in {owners[path]} targets', None))
  for target in targets:
    wanted = expected.pop(target.name, None)
    if target != wanted:
      problems.append((f'target {target.name} is not as imported', wanted))
  problems += [(f'no target {name}', t) for name, t in expected.items()]
  return problems


def test_build_matches_the_sources():
  problems = _problems(build_file.PATH.read_text())
  stanzas = [wanted.render() for _, wanted in problems if wanted]
  assert [what for what, _ in problems] == [], _HINT + '\n'.join(stanzas)


def test_build_is_laid_out_as_written():
  assert build_file.PATH.read_text() == build_file.render(), _HINT


def test_names_are_unique_and_labels_exist():
  calls = build_file.evaluate(build_file.PATH.read_text())
  names = [keywords['name'] for _, _, keywords in calls if 'name' in keywords]
  assert len(set(names)) == len(names), sorted(names)
  for _, _, keywords in calls:
    for label in keywords.get('deps', []) + keywords.get('data', []):
      assert label.startswith(':') and label[1:] in names, label


def test_dependencies_have_no_cycle():
  targets = _targets(build_file.evaluate(build_file.PATH.read_text()))
  graph = {t.name: [label[1:] for label in t.deps] for t in targets}
  graphlib.TopologicalSorter(graph).prepare()


def test_programs_and_tests_run_what_they_hold():
  for rule, _, keywords in build_file.evaluate(build_file.PATH.read_text()):
    if rule == 'py_binary':
      assert keywords['main'] in keywords['srcs']
    elif rule == 'py_test':
      assert keywords['main_module'] == 'pytest'
      assert keywords['args'] == keywords['srcs']


@pytest.mark.parametrize(
    ('old', 'new', 'problem'),
    [
        ('"binaries/cli.py",', '', 'binaries/cli.py is in 0 targets'),
        (
            '"srdice_tf/errors.py"',
            '"srdice_tf/errors.py", "binaries/cli.py"',
            'binaries/cli.py is in 2 targets',
        ),
        (
            '"srdice_tf/errors.py"',
            '"srdice_tf/errors.py", "srdice_tf/none.py"',
            'srdice_tf/none.py is in 1 targets',
        ),
        ('deps = [":errors"]', 'deps = []', 'is not as imported'),
        ('name = "cli"', 'name = "other"', 'no target cli'),
    ],
)
def test_a_wrong_build_is_found(old, new, problem):
  text = build_file.render()
  assert old in text
  problems = _problems(text.replace(old, new))
  assert any(problem in what for what, _ in problems), problems


@pytest.mark.parametrize(
    'text',
    [
        'import os',
        'def f(): pass',
        'py_library(name = "x")',  # Not loaded.
        'glob(["no such file"])',
        'package(name = f"x")',
        '[x for x in ()]',
        'package.x()',
    ],
)
def test_only_starlark_is_evaluated(text):
  with pytest.raises(ValueError):
    build_file.evaluate(text)
