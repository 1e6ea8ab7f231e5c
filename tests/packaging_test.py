"""Tests of the installed package: its metadata, files and commands."""

import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

from packaging import requirements as requirements_lib
import pytest

import srdice_tf
from srdice_tf import commands
from tests import build_file
from tests import source_tree
from tests import warm_processes

_PROJECT = tomllib.loads((source_tree.ROOT / 'pyproject.toml').read_text())
_PROGRAMS = [
    pathlib.PurePath(path).stem
    for path in source_tree.files()
    if source_tree.is_entry_point(path)
]


def _pip(*arguments):
  command = [sys.executable, '-m', 'pip', '--quiet']
  command += ['--disable-pip-version-check', *map(str, arguments)]
  subprocess.run(command, check=True)


@pytest.fixture(name='site', scope='module')
def _site(tmp_path_factory):
  """Returns a directory that the package is installed in, and nothing else."""
  place = tmp_path_factory.mktemp('package')
  clone = place / 'clone'
  ignored = shutil.ignore_patterns('__pycache__')
  for name in ('srdice_tf', 'binaries'):
    shutil.copytree(source_tree.ROOT / name, clone / name, ignore=ignored)
  for name in ('pyproject.toml', 'README.md', 'LICENSE'):
    shutil.copy(source_tree.ROOT / name, clone)
  _pip('install', '--no-deps', f'--target={place / "site"}', clone)
  shutil.rmtree(clone)
  return place / 'site'


def _run(site, program, *arguments, cwd):
  script = site / 'bin' / commands.installed_name(program)
  variables = {**os.environ, 'PYTHONPATH': str(site)}
  return warm_processes.run(script, *arguments, cwd=cwd, env=variables)


def test_the_package_takes_one_name(site):
  metadata = f'srdice_tf-{srdice_tf.__version__}.dist-info'
  assert {path.name for path in site.iterdir()} == {
      'bin', 'srdice_tf', metadata
  }


def test_all_that_programs_read_is_installed(site):
  package = source_tree.ROOT / 'srdice_tf'
  kinds = '.npz', '.json', '.jsonl', '.csv', '.html', '.css', '.js', '.pyi'
  files = {p.relative_to(package) for p in package.rglob('*')}
  needed = {p for p in files if p.suffix in (*kinds, '.py')}
  needed.add(pathlib.Path('py.typed'))
  needed |= {pathlib.Path('binaries', f'{name}.py') for name in _PROGRAMS}
  installed = site / 'srdice_tf'
  assert needed <= {p.relative_to(installed) for p in installed.rglob('*')}


def test_a_command_evaluates_from_anywhere(site, tmp_path):
  found = _run(
      site, 'run_ope', '--env=FiveStateChain', '--algo=tabular_srdice',
      '--num_transitions=200', '--truth=none', cwd=tmp_path,
  )
  assert found.returncode == 0, found.stderr
  assert 'tabular_srdice' in found.stdout
  assert sorted(p.name for p in tmp_path.iterdir()) == ['data', 'runs']


def test_a_command_names_commands(site, tmp_path):
  code = (
      'import sys; sys.path.insert(0, sys.argv[1]); sys.modules["binaries"] ='
      ' None; sys.argv = ["srdice-ope", "--help"];'
      ' from srdice_tf import console; console.run_ope()'
  )
  # Alone: the clone's own programs are not to be found.
  shown = subprocess.run(
      [sys.executable, '-I', '-c', code, site],
      capture_output=True, text=True, cwd=tmp_path, check=True,
  ).stdout
  assert '  srdice-ope --env=Hopper-v4 --algo=srdice\n' in shown
  assert 'binaries/' not in shown


def test_each_program_has_a_command():
  assert _PROJECT['project']['scripts'] == {
      commands.installed_name(name): f'srdice_tf.console:{name}'
      for name in _PROGRAMS
  }


def test_each_package_is_listed():
  packages = {
      '.'.join(pathlib.PurePath(path).parent.parts)
      for path in source_tree.files()
      if path.startswith('srdice_tf/')
  }
  listed = _PROJECT['tool']['setuptools']['packages']
  assert set(listed) == packages | {'srdice_tf.binaries'}


def test_the_pins_are_versions_that_the_package_asks_for():
  asked = map(requirements_lib.Requirement, _PROJECT['project']['dependencies'])
  asked = {each.name: each for each in asked}
  extras = _PROJECT['project']['optional-dependencies']
  extras = map(requirements_lib.Requirement, sum(extras.values(), []))
  extras = {each.name: each for each in extras}
  pinned = {each.name: each for each in build_file.requirements()}
  for name, each in {**asked, **extras}.items():
    version = str(pinned[name].specifier).removeprefix('==')
    assert each.specifier.contains(version), name
    assert each.extras == pinned[name].extras, name
  lines = (source_tree.ROOT / 'requirements.txt').read_text().split()
  names = {requirements_lib.Requirement(line).name for line in lines[:-2]}
  assert names == asked.keys() and lines[-2:] == ['-e', '.']


def test_the_changelog_begins_with_this_version():
  text = (source_tree.ROOT / 'CHANGELOG.md').read_text()
  versions = [line for line in text.splitlines() if line.startswith('## ')]
  assert versions[0].startswith(f'## {srdice_tf.__version__}')
