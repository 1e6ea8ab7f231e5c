"""Tests for cli and common_flags, through a small binary."""

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from binaries import config_flags
from srdice_tf.agents import configs
from srdice_tf.experiments import chain
from tests import source_tree

_BINARY = '''
"""Does a small job.

Usage: as the test likes.
"""

from absl import flags
from absl import logging  # Defines flags that --help must not list.

from binaries import cli
from binaries import common_flags
from srdice_tf import errors

_ENV = common_flags.define_env()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_ADDRESS = common_flags.define_reverb_address()
_COUNT = flags.DEFINE_integer('num_steps', 5, 'Steps.', lower_bound=1)
_SETTING = flags.DEFINE_enum('setting', 'hard', ['hard', 'easy'], 'Which.')
_RATE = flags.DEFINE_float('rate', 1.0, 'Any.')
_TIMEOUT = common_flags.define_server_timeout()
_DIR = flags.DEFINE_string('run_dir', None, 'Where.')


def main(argv):
  del argv
{body}


if __name__ == '__main__':
  cli.run(main)
'''


_VARIABLES = {**os.environ, 'PYTHONPATH': str(source_tree.ROOT)}


@pytest.fixture(name='binary')
def _binary(tmp_path):
  """Returns a function that starts a binary with the given main."""

  def start(body, *arguments):
    path = tmp_path / 'small.py'
    path.write_text(_BINARY.format(body=textwrap.indent(body, '  ')).lstrip())
    return subprocess.Popen(
        [sys.executable, path, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=_VARIABLES,
    )

  return start


def _result(process):
  stdout, stderr = process.communicate(timeout=60)
  return process.returncode, stdout, stderr


def test_flags_reach_main(binary):
  body = 'print(_ENV.value, _SEED.value, _GAMMA.value, _ADDRESS.value)'
  process = binary(body, '--env=X', '--seed=3', '--reverb_address=host:80')
  assert _result(process) == (0, 'X 3 0.99 host:80\n', '')


def test_return_value_is_the_exit_code(binary):
  assert _result(binary('return 7', '--env=X')) == (7, '', '')


def test_results_that_are_not_finite_have_an_exit_code(binary):
  body = "print('all')\nraise errors.NotFiniteError('no finite result of x')"
  expected = 3, 'all\n', 'error: no finite result of x\n'
  assert _result(binary(body, '--env=X')) == expected


@pytest.mark.parametrize(
    ('argument', 'message'),
    [
        ('--sede=3', 'no flag --sede; did you mean --seed?'),
        ('--xyz', 'no flag --xyz; --helpfull lists all flags'),
        (
            '--seed=x',
            "flag --seed=x: invalid literal for int() with base 10: 'x'",
        ),
        (
            '--seed=-1',
            'flag --seed=-1: -1 is not an integer in the range [0, 2147483647]',
        ),
        ('--num_steps=0', 'flag --num_steps=0: 0 is not a positive integer'),
        ('--gamma=1', 'flag --gamma=1.0: must lie strictly between 0 and 1'),
        ('--gamma=0', 'flag --gamma=0.0: must lie strictly between 0 and 1'),
        ('--gamma=nan', 'flag --gamma=nan: must lie strictly between 0 and 1'),
        ('--run_dir=', 'flag --run_dir=: expected a directory'),
        ('--env=', 'flag --env=: expected a value'),
        ('--run_dir=\udcff', r"argument '--run_dir=\udcff': expected UTF-8"),
        ('--num_steps=2147483648', 'flag --num_steps=2147483648: expected at'
         ' most 2147483647'),
        ('--server_timeout=1e308', 'flag --server_timeout=1e308: 1e+308 is not'
         ' a number in the range [0.1, 86400.0]'),
        ('--rate=nan', 'flag --rate=nan: expected a finite number'),
        ('--rate=-inf', 'flag --rate=-inf: expected a finite number'),
        ('--server_timeout=nan', 'flag --server_timeout=nan: expected a finite'
         ' number'),
        (
            '--reverb_address=host',
            'flag --reverb_address=host: expected host:port',
        ),
        (
            '--reverb_address=host:99999',
            'flag --reverb_address=host:99999: expected host:port',
        ),
        (
            '--setting=soft',
            'flag --setting=soft: value should be one of <hard|easy>',
        ),
        (
            'extra',
            "unexpected argument 'extra': all arguments are --flag=value",
        ),
    ],
)
def test_wrong_flags_are_one_line(binary, argument, message):
  code, stdout, stderr = _result(binary('print(1)', '--env=X', argument))
  assert (code, stdout, stderr) == (2, '', f'error: {message}\n')


def test_missing_flag_is_one_line(binary):
  result = _result(binary('print(1)'))
  assert result == (2, '', 'error: flag --env must be given\n')


def test_user_error_is_one_line(binary):
  body = "print('before')\nraise errors.UserError('env', 'X', '\\n  not here')"
  assert _result(binary(body, '--env=X')) == (
      1,
      'before\n',
      'error: --env=X: not here.\n',
  )


@pytest.mark.parametrize(
    ('error', 'shown'),
    [
        ("UserError('num_steps', 0, 'expected 1')", '--num_steps=0: expected'),
        ("UserError('fields', 0, 'no flag')", 'fields=0: no flag.'),
        (
            "at('/a/run_dir/x.json', 'cut', 'see run_dir, env=3, setting')",
            '/a/run_dir/x.json: cut; see --run_dir, --env=3, setting.',
        ),
        ("at('x', 'cut', 'set num_steps')", 'x: cut; set --num_steps.'),
        ("at('x', 'see run_dir.py')", 'x: see run_dir.py.'),
    ],
)
def test_fields_that_are_flags_are_shown_as_flags(binary, error, shown):
  process = binary(f'raise errors.{error}', '--env=X')
  _, stderr = process.communicate()
  assert process.returncode == 1
  assert stderr.startswith(f'error: {shown}')


def test_other_errors_keep_their_traceback(binary):
  code, _, stderr = _result(binary("raise ValueError('a bug')", '--env=X'))
  assert code == 1
  assert stderr.startswith('Traceback')
  assert stderr.endswith('ValueError: a bug\n')


@pytest.mark.parametrize(
    ('raised', 'message'),
    [
        (
            "OSError(28, 'No space left on device', 'a/b.csv')",
            'a/b.csv: No space left on device',
        ),
        (
            "OSError(28, 'No space left on device')",
            '--run_dir=runs/x: No space left on device',
        ),
        (
            "RuntimeError('UNKNOWN: No space left on device; write')",
            '--run_dir=runs/x: No space left on device',
        ),
        (
            "PermissionError(13, 'Permission denied', 'a/b.csv')",
            'a/b.csv: Permission denied',
        ),
        (
            "IsADirectoryError(21, 'Is a directory', 'a.tmp', None, 'a.csv')",
            'a.csv: Is a directory',
        ),
    ],
)
def test_full_or_forbidden_disk_is_one_line(binary, raised, message):
  process = binary(f'raise {raised}', '--env=X', '--run_dir=runs/x')
  assert _result(process) == (1, '', f'error: {message}\n')


@pytest.mark.parametrize(
    ('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_clean_up_and_say_how_to_go_on(binary, number, code):
  body = (
      'import time\n'
      'try:\n'
      "  print('ready', flush=True)\n"
      '  time.sleep(60)\n'
      'finally:\n'
      "  print('cleaned up')\n"
  )
  process = binary(body, '--env=X')
  assert process.stdout.readline() == 'ready\n'
  os.kill(process.pid, number)
  assert _result(process) == (
      code,
      'cleaned up\n',
      'interrupted: the same command resumes\n',
  )


def test_help_lists_the_flags_of_the_binary_only(binary):
  code, stdout, stderr = _result(binary('print(1)', '--help'))
  assert (code, stderr) == (0, '')
  assert stdout.startswith('Does a small job.\n')
  listed = [line.strip() for line in stdout.splitlines() if '  --' in line]
  assert listed == [
      '--env',
      '--gamma',
      '--reverb_address',
      '--server_timeout',
      '--setting',
      '--rate',
      '--run_dir',
      '--num_steps',
      '--seed',
  ]
  assert '(default: 0.99)' in ' '.join(stdout.split())
  assert '<hard|easy>: Which. (default: hard)' in ' '.join(stdout.split())
  assert max(map(len, stdout.splitlines())) <= 80


def test_two_binaries_in_one_process_share_flags(tmp_path):
  module = 'from binaries import common_flags\nGAMMA = {}.define_gamma()\n'
  for name in ('first', 'second'):
    (tmp_path / f'{name}.py').write_text(module.format('common_flags'))
  code = (
      'import first, second\n'
      'from absl import flags\n'
      "flags.FLAGS(['x', '--gamma=0.5'])\n"
      'print(first.GAMMA.value, second.GAMMA.value)\n'
      "second_flags = flags.FLAGS.get_key_flags_for_module('second')\n"
      'print([flag.name for flag in second_flags])\n'
  )
  process = subprocess.run(
      [sys.executable, '-c', code],
      capture_output=True,
      text=True,
      cwd=tmp_path,
      check=True,
      env=_VARIABLES,
  )
  assert process.stdout == "0.5 0.5\n['gamma']\n"


def test_help_may_be_left_half_read(binary):
  process = binary('pass', '--help')
  process.stdout.close()  # As `head` does once it has its lines.
  errors = process.stderr.read()
  assert process.wait(timeout=60) == 0
  assert errors == ''


@pytest.mark.parametrize(
    'config_class',
    [
        chain.ChainConfig,
        configs.Td3Config,
        configs.DdqnConfig,
    ],
)
def test_fields_are_explained_in_whole_sentences(config_class):
  texts = config_flags._attribute_texts(config_class.__doc__)
  assert list(texts) == [f.name for f in dataclasses.fields(config_class)]
  for name, text in texts.items():
    assert text[0].isupper() and text.endswith('.'), f'{name}: {text}'
    assert ' it.' not in text and not text.startswith('Of '), f'{name}: {text}'
