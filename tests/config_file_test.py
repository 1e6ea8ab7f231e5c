"""Tests of the settings in a run's directory."""

import dataclasses
import json

import pytest

from srdice_tf import config_file
from srdice_tf import errors


@dataclasses.dataclass(frozen=True)
class _Inner:
  rate: float = 0.5
  kinds: tuple[str, ...] = ('a',)


@dataclasses.dataclass(frozen=True)
class _Config:
  name: str
  steps: int = 10
  inner: _Inner = _Inner()


def _read(directory):
  return json.loads((directory / 'config.json').read_text())


def test_same_settings_are_welcome(tmp_path):
  config_file.claim(tmp_path / 'run', _Config('x'))
  before = (tmp_path / 'run' / 'config.json').stat().st_mtime_ns
  config_file.claim(tmp_path / 'run', _Config('x'))
  assert (tmp_path / 'run' / 'config.json').stat().st_mtime_ns == before
  assert _read(tmp_path / 'run')['inner'] == {'rate': 0.5, 'kinds': ['a']}


def test_other_settings_are_refused_by_name(tmp_path):
  config_file.claim(tmp_path, _Config('x'))
  before = _read(tmp_path)
  other = _Config('x', inner=_Inner(kinds=('b',)))
  with pytest.raises(errors.UserError, match=r"inner.kinds=\['a'\], asked.*b"):
    config_file.claim(tmp_path, other)
  with pytest.raises(errors.UserError, match='name=x, asked for is y'):
    config_file.claim(tmp_path, _Config('y'))
  assert _read(tmp_path) == before


def test_some_fields_may_change(tmp_path):
  config_file.claim(tmp_path, _Config('x'), ('steps',))
  config_file.claim(tmp_path, _Config('x', steps=20), ('steps',))
  assert _read(tmp_path)['steps'] == 20


def test_a_field_younger_than_the_run_had_its_default(tmp_path):
  config_file.write_json(
      tmp_path.joinpath('config.json').as_posix(),
      {'name': 'x', 'inner': {'kinds': ['a']}},
  )
  with pytest.raises(errors.UserError, match='inner.rate=0.5, asked for is 2'):
    config_file.claim(tmp_path, _Config('x', inner=_Inner(rate=2.0)))
  config_file.claim(tmp_path, _Config('x'))
  assert _read(tmp_path)['inner']['rate'] == 0.5


def test_a_field_that_is_no_more_is_refused(tmp_path):
  path = tmp_path.joinpath('config.json').as_posix()
  config_file.write_json(path, {'name': 'x', 'old': 1})
  with pytest.raises(errors.UserError, match='old=1, asked for is None'):
    config_file.claim(tmp_path, _Config('x'))


def test_what_a_run_left_without_its_settings_is_refused(tmp_path):
  (tmp_path / 'checkpoint-3').mkdir()
  (tmp_path / 'other').touch()
  traces = ('checkpoint-*', 'metrics.csv')
  match = 'holds checkpoint-3 of a run, but no config.json'
  with pytest.raises(errors.UserError, match=match):
    config_file.claim(tmp_path, _Config('x'), traces=traces)
  assert not (tmp_path / 'config.json').exists()
  (tmp_path / 'checkpoint-3').rmdir()
  config_file.claim(tmp_path, _Config('x'), traces=traces)


def test_to_check_writes_nothing(tmp_path):
  assert config_file.check(tmp_path / 'run', _Config('x')) is None
  assert not (tmp_path / 'run').exists()
  config_file.claim(tmp_path / 'run', _Config('x'))
  with pytest.raises(errors.UserError, match='name=x, asked for is y'):
    config_file.check(tmp_path / 'run', _Config('y'))
  config_file.check(tmp_path / 'run', _Config('y'), changeable=('name',))
  assert _read(tmp_path / 'run')['name'] == 'x'


def test_a_directory_that_was_not_claimed_is_removed(tmp_path):
  for place in (tmp_path / 'new' / 'run', tmp_path / 'old'):
    (tmp_path / 'old').mkdir(exist_ok=True)
    with pytest.raises(ValueError), config_file.hold(place):
      assert place.is_dir()
      raise ValueError
  assert not (tmp_path / 'new').exists()
  assert (tmp_path / 'old').exists()
  with pytest.raises(ValueError), config_file.hold(tmp_path / 'run'):
    config_file.claim(tmp_path / 'run', _Config('x'))
    raise ValueError
  assert _read(tmp_path / 'run')['name'] == 'x'


def test_a_directory_is_held_by_one(tmp_path):
  with config_file.hold(tmp_path / 'run'):
    with pytest.raises(errors.UserError, match='is in use by process'):
      with config_file.hold(tmp_path / 'run'):
        pass
    assert (tmp_path / 'run').exists()


def test_a_directory_that_cannot_be_made(tmp_path):
  (tmp_path / 'file').touch()
  with pytest.raises(errors.UserError, match='file/x: Not a directory'):
    config_file.claim(tmp_path / 'file' / 'x', _Config('x'))


@pytest.mark.parametrize(
    'content',
    [b'', b'{"name": ', b'[]', b'3', b'null', b'\xff\x00', b'[' * 100_000],
)
def test_a_damaged_file_is_one_line(tmp_path, content):
  (tmp_path / 'config.json').write_bytes(content)
  message = 'config.json: .*; remove'
  with pytest.raises(errors.UserError, match=message) as error:
    config_file.claim(tmp_path, _Config('x'))
  assert '\n' not in str(error.value)
