"""Tests of the commands that people are told to type."""

from importlib import metadata

from srdice_tf import commands


def test_from_a_clone_programs_are_files(monkeypatch):
  monkeypatch.setattr(commands, 'by_command', False)
  assert commands.line('run_ope', env='Hopper-v4', policy='', list=True) == (
      'python binaries/run_ope.py --env=Hopper-v4 --list'
  )
  command = commands.of('binaries/run_ope.py', ['--data=a b', '--env=X'])
  assert command == "python binaries/run_ope.py '--data=a b' --env=X"
  assert commands.install('ray') == 'pip install -e ".[ray]"'


def test_an_installed_package_has_commands(monkeypatch):
  monkeypatch.setattr(commands, 'by_command', True)
  command = commands.line('make_report', runs='a b')
  assert command == "srdice-report --runs='a b'"
  command = commands.of('/x/binaries/check_data.py', ['--data=y'])
  assert command == 'srdice-check-data --data=y'


def test_an_installed_package_knows_its_extras(monkeypatch, tmp_path):
  needs = ['numpy~=1.26', 'ray~=2.55; extra == "ray"', 'x; extra == "rlds"']
  monkeypatch.setattr(metadata, 'requires', lambda name: needs)
  monkeypatch.setattr(commands, '_INSTALLED', str(tmp_path))
  assert commands.install('ray') == 'pip install "ray~=2.55"'
