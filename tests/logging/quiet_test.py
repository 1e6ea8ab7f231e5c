"""Tests for quiet: noise is dropped, everything else arrives."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time

import hypothesis
from hypothesis import strategies
import pytest

from srdice_tf.logging import stderr_filter

_INSTALL = 'from srdice_tf.logging import quiet; quiet.install()\n'


def _environment(**variables):
  hidden = ('SRDICE_TF_VERBOSE', 'TF_CPP_MIN_LOG_LEVEL')
  kept = {k: v for k, v in os.environ.items() if k not in hidden}
  return kept | variables


def _run(code, **variables):
  """Runs code after `install`; returns exit code, stdout and stderr."""
  process = subprocess.run(
      [sys.executable, '-c', _INSTALL + textwrap.dedent(code)],
      capture_output=True,
      text=True,
      timeout=120,
      env=_environment(**variables),
      check=False,
  )
  return process.returncode, process.stdout, process.stderr


_NOISY = """
    import tempfile
    import ale_py
    import gymnasium
    import numpy as np
    import reverb
    import tensorflow
    from srdice_tf import environments
    from srdice_tf.policies import base
    from tf_agents.policies import policy_saver
    gymnasium.register_envs(ale_py)
    gymnasium.make('HalfCheetah-v4').reset(seed=0)
    gymnasium.make('ALE/Pong-v5').reset(seed=0)
    env = environments.load('Pendulum-v1')
    specs = env.observation_spec(), env.action_spec()
    policy = base.deterministic_policy(*specs)
    policy_saver.PolicySaver(policy).save(tempfile.mkdtemp())
    checkpointer = reverb.checkpointers.DefaultCheckpointer(tempfile.mkdtemp())
    for _ in range(2):
      server = reverb.Server(
          [reverb.Table.queue('t', 1000)], checkpointer=checkpointer)
      client = reverb.Client(f'localhost:{server.port}')
      with client.trajectory_writer(1) as writer:
        for i in range(200):
          writer.append([np.zeros(3)])
          writer.create_item('t', 1.0, writer.history[0][-1:])
      next(iter(client.sample('t', 1)))
      client.checkpoint()
      server.stop()
    print('done')
"""


def test_no_noise_of_third_parties_arrives(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)  # MuJoCo writes a log beside the process.
  code, stdout, stderr = _run(_NOISY)
  assert (code, stdout) == (0, 'done\n')
  assert stderr == ''


def test_the_noise_is_there_without_the_filter(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  _, _, stderr = _run(_NOISY, SRDICE_TF_VERBOSE='1')
  for noise in ('cuDNN', 'Gym has been', 'out of date', 'Stella', '[reverb/cc'):
    assert noise in stderr


def test_real_warnings_and_errors_arrive():
  code, _, stderr = _run("""
      import os
      import warnings
      warnings.warn('loss is not finite')
      os.write(2, b'[reverb/cc/sampler.cc:1] connection lost\\n')
      os.write(2, b'2026-01-01 00:00:00.000001: W a/b.cc:1] out of memory\\n')
      raise ValueError('the end')
  """)
  assert code == 1
  assert 'UserWarning: loss is not finite' in stderr
  assert '[reverb/cc/sampler.cc:1] connection lost\n' in stderr
  assert ': W a/b.cc:1] out of memory\n' in stderr
  assert 'Traceback (most recent call last)' in stderr
  assert stderr.endswith('ValueError: the end\n')


def test_last_line_of_an_aborted_process_arrives():
  code, _, stderr = _run("""
      import os
      os.write(2, b'check failed: x > 0')
      os.abort()
  """)
  assert code == -signal.SIGABRT
  assert stderr == 'check failed: x > 0'


def test_interrupt_of_the_whole_group_loses_nothing():
  process = subprocess.Popen(
      [
          sys.executable,
          '-c',
          _INSTALL + 'import time\nprint(1, flush=True)\ntime.sleep(60)',
      ],
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      start_new_session=True,
      env=_environment(),
  )
  process.stdout.readline()
  os.killpg(process.pid, signal.SIGINT)
  _, stderr = process.communicate(timeout=30)
  assert (process.returncode, stderr) == (130, 'interrupted\n')


def test_stderr_has_arrived_when_the_process_has_ended():
  """What a shell shows: the message, then its prompt."""
  read, write = os.pipe()
  os.set_blocking(read, False)
  for _ in range(5):
    process = subprocess.Popen(
        [sys.executable, '-c', _INSTALL + 'raise SystemExit("last words")'],
        stderr=write,
        env=_environment(),
    )
    # The moment of the exit, not the end of the pipe, is what counts.
    assert process.wait(30) == 1
    assert os.read(read, 1000) == b'last words\n'


def test_twice_installed_is_once_and_children_are_filtered_too():
  code, _, stderr = _run("""
      terminal = quiet.terminal()
      quiet.install()
      assert quiet.terminal() is terminal
      import subprocess
      subprocess.run(['sh', '-c', 'echo "[Powered by Stella]" >&2; echo x >&2'])
  """)
  assert (code, stderr) == (0, 'x\n')


def _run_on_terminal(code):
  """Runs code after `install`; returns what a terminal as stderr gets."""
  controller, terminal = pty.openpty()
  process = subprocess.Popen(
      [sys.executable, '-c', _INSTALL + textwrap.dedent(code)],
      stderr=terminal,
      env=_environment(),
  )
  os.close(terminal)
  shown = b''
  with contextlib.suppress(OSError):  # The end of a terminal is an error.
    while data := os.read(controller, 1000):
      shown += data
  os.close(controller)
  assert process.wait(30) == 0
  return shown


def test_terminal_is_the_real_stderr():
  code = 'quiet.terminal().write(str(quiet.terminal().isatty()))'
  shown = _run_on_terminal(code)
  assert shown == b'True'


def test_a_message_replaces_the_progress_bar_on_a_terminal():
  shown = _run_on_terminal("""
      import sys
      quiet.terminal().write('50%')
      quiet.terminal().flush()
      print('real', file=sys.stderr)
  """)
  assert shown == b'50%\r\x1b[Kreal\r\n'


def test_a_prompt_does_not_wait_for_its_end():
  process = subprocess.Popen(
      [
          sys.executable,
          '-c',
          _INSTALL + 'import os, time\nos.write(2, b"go? ")\ntime.sleep(60)',
      ],
      stderr=subprocess.PIPE,
      env=_environment(),
  )
  start = time.monotonic()
  assert process.stderr.read(4) == b'go? '
  assert time.monotonic() - start < 30
  process.kill()
  process.communicate(timeout=30)


def test_closed_stderr_is_no_error():
  process = subprocess.run(
      ['sh', '-c', '"$0" -c "$1" 2>&-', sys.executable, _INSTALL + 'print(1)'],
      stdout=subprocess.PIPE,
      timeout=60,
      env=_environment(),
      check=False,
  )
  assert (process.returncode, process.stdout) == (0, b'1\n')


def test_lines_in_pieces():
  lines = stderr_filter.Filter()
  pieces = (b'[reverb/cc/server.cc:71] ', b'Started replay server', b' on 1\n')
  assert b''.join(lines.feed(piece) for piece in pieces) == b''
  assert lines.feed(b'real ') == b''
  assert lines.feed(b'line\n') == b'real line\n'


_LINES = (
    b'real\n',
    b'\n',
    b'[Powered by Stella]\n',
    b'[reverb/cc/server.cc:71] Started replay server on 1\n',
    b'[reverb/cc/server.cc:71] lost\n',
    b'50%\r',
    stderr_filter.SYNC,
)


@hypothesis.settings(database=None, deadline=None)
@hypothesis.given(
    strategies.lists(strategies.sampled_from(_LINES)),
    strategies.sets(strategies.integers(0, 300)),
)
def test_how_the_stream_is_cut_makes_no_difference(lines, cuts):
  stream = b''.join(lines)
  whole, pieces = stderr_filter.Filter(), stderr_filter.Filter()
  bounds = [0, *sorted(cuts), None]
  out = [pieces.feed(stream[a:b]) for a, b in zip(bounds, bounds[1:])]
  assert b''.join(out) == whole.feed(stream)
  assert pieces.num_syncs == whole.num_syncs == lines.count(stderr_filter.SYNC)


def test_an_unfinished_line_is_passed_on_once():
  lines = stderr_filter.Filter()
  assert lines.feed(b'go? ') == b''
  assert lines.take_partial() == b'go? '
  rest = b'[Powered by Stella] is part of the line\n'
  assert lines.feed(rest + b'[Powered by Stella]\nend\n') == rest + b'end\n'


def test_only_the_tail_of_noise_goes_with_it():
  lines = stderr_filter.Filter()
  noise = b"WARNING: compiler attribute 'settotalmass' is deprecated\n\n"
  assert lines.feed(noise + b'a\n\nb\n') == b'a\n\nb\n'


def test_sync_marker_is_removed_wherever_it_is_split():
  marker = stderr_filter.SYNC
  for cut in range(len(marker) + 1):
    lines = stderr_filter.Filter()
    out = lines.feed(b'a\nb' + marker[:cut]) + lines.feed(marker[cut:] + b'c\n')
    assert (out, lines.num_syncs) == (b'a\nbc\n', 1)


@pytest.mark.parametrize(
    'line',
    [
        b'Traceback (most recent call last):',
        b'[reverb/cc/client.cc:1] Unable to validate shapes',
        b'2026-01-01 00:00:00.1: E external/x.cc:1] failed call to cuInit',
        b'x.py:1: DeprecationWarning: The option is out of date',
        b'WARNING: Nan, Inf or huge value in QACC at DOF 0.',
    ],
)
def test_real_lines_are_not_noise(line):
  assert not stderr_filter.is_noise(line)


def test_a_lone_bracket_is_left_of_a_torn_line():
  lines = stderr_filter.Filter()
  assert lines.feed(b'[\ncollect 5%\n') == b'collect 5%\n'
  assert lines.feed(b'[') == b'' and lines.take_partial() == b''
  assert lines.feed(b'1, 2]\n') == b'[1, 2]\n'
