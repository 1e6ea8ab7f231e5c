"""Tests that --help says what is so, in groups, and at once."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from binaries import flag_groups
from binaries import help_page
from tests import source_tree
from tests import warm_processes

_PROGRAMS = {
    pathlib.PurePath(path).stem: path
    for path in source_tree.files()
    if source_tree.is_entry_point(path)
}
_MAX_FIRST = 12
# Names that are not in a group: hyper-parameters and fields of configs.
_FLAGS_OF_ALL = """
import dataclasses, json, runpy, sys
from absl import flags
from binaries import common_flags
from srdice_tf.agents import configs
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import chain

programs = {}
for path in sys.argv[1:]:
  for name in list(flags.FLAGS):
    delattr(flags.FLAGS, name)
  common_flags._holders.clear()
  doc = runpy.run_path(path, run_name=path)['__doc__']
  own = flags.FLAGS.get_key_flags_for_module(path)
  programs[path] = doc, {
      flag.name: (flag.default, getattr(flag.parser, 'enum_values', []))
      for flag in own
  }
classes = configs.Td3Config, configs.DdqnConfig, chain.ChainConfig
fields = {f.name for each in classes for f in dataclasses.fields(each)}
print(json.dumps([programs, sorted({*hyperparameters.fields()} | fields)]))
"""
_HELP_OF_ALL = """
import runpy, sys
programs = sys.argv[1:]
for path in programs:
  sys.argv = [path, '--help']
  try:
    runpy.run_path(path, run_name='__main__')
  except SystemExit as end:
    assert not end.code, path
  print('END')
print({'absl', 'numpy', 'tensorflow'} & sys.modules.keys())
"""


@pytest.fixture(name='found', scope='module')
def _found():
  """Returns docs and flags of all programs, and who needs no group."""
  paths = _PROGRAMS.values()
  process = warm_processes.run('-c', _FLAGS_OF_ALL, *paths)
  assert process.returncode == 0, process.stderr
  programs, fields = json.loads(process.stdout)
  return {name: programs[path] for name, path in _PROGRAMS.items()}, fields


def _rows(program):
  rows = flag_groups.first(program).values()
  return [row for group in rows for row in group]


def test_each_program_has_a_page_of_a_dozen_flags(found):
  programs, _ = found
  assert flag_groups.FIRST.keys() == programs.keys()
  for program, (_, flags) in programs.items():
    names = [name for name, _, _ in _rows(program)]
    assert 0 < len(names) <= _MAX_FIRST
    assert set(names) <= flags.keys(), program


def test_the_page_tells_defaults_and_choices(found):
  for program, (_, flags) in found[0].items():
    for name, value, text in _rows(program):
      default, choices = flags[name]
      where = f'{program} --{name}: {text}'
      assert bool(value) == (not isinstance(default, bool)), where
      if isinstance(default, list):
        default = default[0] if len(default) == 1 else None
      if default not in (None, False, ''):
        assert re.search(rf'\b{default}\b.*default|default.*\b{default}\b',
                         text), where
      assert '...' in text or all(choice in text for choice in choices), where


def test_the_page_names_all_methods(found):
  del found
  _, _, text = next(row for row in _rows('run_ope') if row[0] == 'algo')
  registry = (source_tree.ROOT / 'srdice_tf/estimators/registry.py').read_text()
  names = re.findall(r"^    '(\w+)': ", registry, re.M)
  assert len(names) > 5 and set(names) <= set(re.findall(r'\w+', text))


def test_each_flag_has_a_group(found):
  programs, fields = found
  own = set().union(*(flags for _, flags in programs.values()))
  grouped = [name for names in flag_groups.GROUPS.values() for name in names]
  assert own - set(fields) <= set(grouped) <= own
  assert len(grouped) == len(set(grouped))


def test_each_program_shows_an_example_that_fits_its_flags(found):
  for program, (doc, flags) in found[0].items():
    commands = help_page.examples(doc)
    first = f'python binaries/{program}.py'
    assert commands and commands[0].startswith(first), program
    for command in commands:
      if command.startswith(first):
        assert set(re.findall(r'--(\w+)', command)) <= flags.keys(), command


def test_help_comes_without_the_libraries():
  process = subprocess.run(
      [sys.executable, '-c', _HELP_OF_ALL, *_PROGRAMS.values()],
      capture_output=True,
      text=True,
      cwd=source_tree.ROOT,
      check=False,
  )
  *pages, imported = process.stdout.split('END\n')
  assert imported == 'set()\n', process.stderr
  assert len(pages) == len(_PROGRAMS)
  for program, page in zip(_PROGRAMS, pages):
    assert page.endswith(f'\nAll flags: python binaries/{program}.py'
                         ' --helpfull\n')
    groups = [line for line in page.splitlines() if line in flag_groups.GROUPS]
    assert groups == [g for g in flag_groups.GROUPS if g in groups] and groups
    assert max(map(len, page.splitlines())) <= 80
