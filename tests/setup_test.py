"""Tests of the set-up that quickstart.sh and run.sh share.

A stub stands in for Python: it notes what it is asked for, and makes a venv in
no time. That the real one works, every run of run.sh shows.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parents[1]
_TOOLS = ('cat', 'cksum', 'cp', 'dirname', 'flock', 'grep', 'mkdir', 'rm')
_TOOLS += ('sh', 'touch', 'tr')

_PYTHON = """#!/bin/sh
case "$*" in
  *version_info*) echo {version} ;;
  *venv*)
    rm -rf "$4"
    mkdir -p "$4/bin" "$4/lib/python3.11/site-packages/pip"
    cp "$0" "$4/bin/python" ;;
  *pip*)
    echo "noise of pip"
    if grep -q missing requirements.txt; then
      echo "no package 'missing'" >&2
      exit 1
    fi ;;
  *) echo "$1" ;;
esac
"""


class _Clone:
  """A directory with the set-up scripts, and a PATH with a stub of Python."""

  def __init__(self, directory: pathlib.Path):
    self.root = directory / 'a clone'
    (self.root / 'binaries').mkdir(parents=True)
    (self.root / 'pyproject.toml').touch()
    self.requirements = self.root / 'requirements.txt'
    self.requirements.write_text('one==1\n')
    self.venv = self.root / '.venv'
    for name in ('setup_venv.sh', 'quickstart.sh'):
      shutil.copy(_ROOT / 'binaries' / name, self.root / 'binaries')
    self.tools = directory / 'tools'
    self.tools.mkdir()
    for name in _TOOLS:
      (self.tools / name).symlink_to(shutil.which(name))

  def add_python(self, path: pathlib.Path, version: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_PYTHON.format(version=version))
    path.chmod(0o755)

  def run(self):
    """Runs quickstart from elsewhere; returns code, programs and stderr."""
    process = subprocess.run(
        [shutil.which('bash'), self.root / 'binaries' / 'quickstart.sh'],
        capture_output=True,
        text=True,
        cwd='/',
        env={'PATH': str(self.tools)},
        check=False,
    )
    jobs = [
        line
        for line in process.stdout.splitlines(keepends=True)
        if line.startswith('binaries/')
    ]
    return process.returncode, ''.join(jobs), process.stderr


_JOB = 'binaries/run_ope.py\nbinaries/make_report.py\n'
_INSTALLING = (
    'Installing requirements.txt into .venv, once: TensorFlow, TF-Agents,'
    ' Reverb, MuJoCo and others,\n'
    '0.8 GB to download, 2.6 GB on the disk, some minutes by your network\n'
)


@pytest.fixture(name='clone')
def _clone(tmp_path):
  clone = _Clone(tmp_path)
  clone.add_python(clone.tools / 'python3', '3.11')
  return clone


def test_sets_up_once_then_starts_at_once(clone):
  assert clone.run() == (0, _JOB, _INSTALLING)
  assert clone.run() == (0, _JOB, '')


def test_changed_requirements_are_installed(clone):
  clone.run()
  clone.requirements.write_text('one==2\n')
  assert clone.run() == (0, _JOB, _INSTALLING)
  assert clone.run() == (0, _JOB, '')


def test_a_moved_clone_is_installed_anew(clone):
  clone.run()
  clone.root = clone.root.rename(clone.root.parent / 'moved')
  assert clone.run() == (0, _JOB, _INSTALLING)


def test_a_killed_install_is_repaired(clone):
  clone.run()
  (clone.venv / 'installing').touch()
  (clone.venv / 'half there').touch()
  assert clone.run() == (0, _JOB, _INSTALLING)
  assert not (clone.venv / 'half there').exists()
  assert clone.run() == (0, _JOB, '')


@pytest.mark.parametrize('part', ['bin', 'lib/python3.11/site-packages/pip'])
def test_a_half_made_venv_is_repaired(clone, part):
  clone.run()
  shutil.rmtree(clone.venv / part)
  assert clone.run() == (0, _JOB, _INSTALLING)


def test_pip_says_why_it_fails_and_the_next_run_tries_again(clone):
  clone.requirements.write_text('missing==1\n')
  for _ in range(2):
    code, stdout, stderr = clone.run()
    assert (code, stdout) == (1, '')
    assert stderr.splitlines()[-2:] == [
        "no package 'missing'",
        'error: pip could not install requirements.txt; the lines above say'
        ' why',
    ]
  clone.requirements.write_text('one==1\n')
  assert clone.run() == (0, _JOB, _INSTALLING)


@pytest.mark.parametrize(
    ('versions', 'found'),
    [
        ({}, 'no Python'),
        (
            {'python3': '3.12', 'python': '2.7'},
            'python3 is 3.12, python is 2.7',
        ),
    ],
)
def test_no_python_is_one_line(tmp_path, versions, found):
  clone = _Clone(tmp_path)
  for name, version in versions.items():
    clone.add_python(clone.tools / name, version)
  message = f'error: Python 3.11 is needed; found: {found}\n'
  assert clone.run() == (1, '', message)
  assert not clone.venv.exists()


def test_a_venv_of_another_python_is_left_alone(clone):
  python = clone.venv / 'bin' / 'python'
  clone.add_python(python, '3.12')
  code, stdout, stderr = clone.run()
  assert (code, stdout, stderr.count('\n')) == (1, '', 1)
  assert 'holds Python 3.12, not 3.11' in stderr
  assert python.exists()


def test_installed_packages_fit_together():
  process = subprocess.run(
      [sys.executable, '-m', 'pip', 'check', '--disable-pip-version-check'],
      capture_output=True,
      text=True,
      check=False,
  )
  assert process.returncode == 0, process.stdout


def test_pins_are_exact():
  for path in ('requirements.txt', 'tests/requirements.txt'):
    for line in (_ROOT / path).read_text().split('\n'):
      assert '==' in line or line in ('-e .', ''), line


@pytest.mark.parametrize(
    'path', ['binaries/quickstart.sh', 'tests/run.sh', '.ci/run']
)
def test_scripts_are_executable(path):
  assert os.access(_ROOT / path, os.X_OK)
