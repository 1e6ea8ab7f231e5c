"""Tests of interrupts that wait, and are answered at once."""

import os
import signal
import subprocess
import sys
import time

import pytest

from srdice_tf import interrupts

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize('number', _NUMBERS)
def test_a_deferred_signal_comes_when_the_work_is_saved(number, capfd):
  handler = signal.getsignal(number)
  with interrupts.Deferred(seconds=7.0) as interrupt:
    assert interrupt.received is None
    signal.raise_signal(number)
    done = True
  assert done and interrupt.received == number
  assert signal.getsignal(number) == handler
  said = capfd.readouterr().err
  assert said == (
      'stopping after this call, about 7 s; once more ends it at once\n'
  )
  seen = []
  signal.signal(number, lambda *arguments: seen.append(arguments[0]))
  try:
    # Who handles a signal in a way of his own must not go on either.
    with pytest.raises(KeyboardInterrupt):
      interrupt.reraise()
  finally:
    signal.signal(number, handler)
  assert seen == [number]


def test_the_second_signal_does_not_wait():
  with pytest.raises(KeyboardInterrupt):
    with interrupts.Deferred():
      signal.raise_signal(signal.SIGINT)
      signal.raise_signal(signal.SIGINT)
      pytest.fail('It went on.')


def test_what_is_ignored_stays_ignored():
  handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # As below nohup.
  try:
    with interrupts.Deferred() as interrupt:
      signal.raise_signal(signal.SIGINT)
    assert interrupt.received is None
    interrupt.reraise()
  finally:
    signal.signal(signal.SIGINT, handler)


def test_calls_take_about_two_seconds():
  pace = interrupts.Pace()
  assert (pace.size(1000), pace.seconds(1)) == (1, None)
  pace.note(1, 4.0)  # The first call is slow.
  assert (pace.size(1000), pace.seconds(1)) == (1, 4.0)
  pace.note(1, 0.0625)
  assert (pace.size(1000), pace.size(20), pace.seconds(32)) == (32, 20, 2.0)
  pace.note(32, 0.0)
  assert pace.size(1000) == 1000


_PROGRAM = """
from srdice_tf.logging import quiet
quiet.install()
import hashlib, time
from binaries import cli
from srdice_tf import interrupts

def busy():
  '''Some seconds in C, where Python handles no signal.'''
  print('ready', flush=True)
  hashlib.pbkdf2_hmac('sha256', b'x', b'y', {rounds})

def main(_):
  with interrupts.Deferred({seconds}) as interrupt:
    busy()
  print('saved', flush=True)
  interrupt.reraise()

if {imports}:
  busy()
cli.run(main)
"""


@pytest.fixture(name='start', scope='module')
def _start():
  begun = time.perf_counter()
  subprocess.run(
      [sys.executable, '-c', 'import hashlib\n'
       'hashlib.pbkdf2_hmac("sha256", b"x", b"y", 200_000)'],
      check=True,
  )
  seconds = time.perf_counter() - begun

  def start(call_seconds=3.0, imports=False):
    rounds = int(200_000 * call_seconds / seconds)
    code = _PROGRAM.format(rounds=rounds, seconds=3.0, imports=imports)
    process = subprocess.Popen(
        [sys.executable, '-c', code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == 'ready\n'
    return process

  return start


@pytest.mark.parametrize('number', _NUMBERS)
def test_a_program_answers_at_once_and_keeps_its_work(start, number):
  process = start()
  os.kill(process.pid, number)
  first = process.stderr.readline()
  assert process.poll() is None  # It is still in the call.
  assert first.startswith('stopping after this call, about ')
  stdout, stderr = process.communicate(timeout=60)
  assert process.returncode == 128 + number
  assert (stdout, stderr) == (
      'saved\n',
      'interrupted: the same command resumes\n',
  )


def test_the_second_ctrl_c_ends_a_program_at_once(start):
  process = start(call_seconds=300.0)
  os.kill(process.pid, signal.SIGINT)
  process.stderr.readline()
  os.kill(process.pid, signal.SIGINT)
  stdout, stderr = process.communicate(timeout=60)
  assert (process.returncode, stdout, stderr) == (130, '', 'interrupted\n')


@pytest.mark.parametrize('number', _NUMBERS)
def test_in_the_imports_it_is_one_line(start, number):
  process = start(call_seconds=300.0, imports=True)
  os.kill(process.pid, number)
  stdout, stderr = process.communicate(timeout=60)
  assert (process.returncode, stdout, stderr) == (
      128 + number, '', 'interrupted\n'
  )
