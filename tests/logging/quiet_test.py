"""Tests for quiet: noise goes to a log, what matters to the user."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import textwrap

import pytest

_INSTALL = 'from srdice_tf.logging import quiet; quiet.install()\n'


@pytest.fixture(name='start')
def _start(tmp_path):
  """Returns a function that starts code after `install`, logs in tmp_path."""
  hidden = ('SRDICE_TF_VERBOSE', 'TF_CPP_MIN_LOG_LEVEL')
  kept = {k: v for k, v in os.environ.items() if k not in hidden}
  root = os.getcwd()

  def start(code, stderr=subprocess.PIPE, **variables):
    path = {'PYTHONPATH': root, 'TMPDIR': str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, '-c', _INSTALL + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=kept | path | variables,
        cwd=tmp_path,  # MuJoCo writes a log beside the process.
        start_new_session=True,
    )

  return start


@pytest.fixture(name='run')
def _run(start):
  """Returns a function that runs code: exit code, stdout and stderr."""

  def run(code, **variables):
    process = start(code, **variables)
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr

  return run


def _logs(directory):
  return [path.read_text() for path in directory.glob('srdice_tf-*.log')]


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


def test_no_noise_of_third_parties_arrives(run, tmp_path):
  assert run(_NOISY) == (0, 'done\n', '')
  assert not _logs(tmp_path)


def test_the_noise_is_there_without_it(run):
  _, _, stderr = run(_NOISY, SRDICE_TF_VERBOSE='1')
  for noise in ('cuDNN', 'Gym has been', 'out of date', 'Stella', '[reverb/cc'):
    assert noise in stderr


def test_an_error_arrives_and_says_where_the_log_is(run, tmp_path):
  code, _, stderr = run("""
      import os
      import warnings
      warnings.warn('loss is not finite')
      os.write(2, b'[reverb/cc/sampler.cc:1] connection lost\\n')
      raise ValueError('the end')
  """)
  assert code == 1
  assert 'UserWarning: loss is not finite' in stderr
  *_, error, log = stderr.splitlines()
  assert error == 'ValueError: the end'
  assert log.startswith(f'log of the libraries: {tmp_path}/srdice_tf-')
  assert _logs(tmp_path) == ['[reverb/cc/sampler.cc:1] connection lost\n']


@pytest.mark.parametrize('end', ['os.abort()', 'os.kill(os.getpid(), 9)'])
def test_last_line_of_a_crashed_process_arrives(run, tmp_path, end):
  code, _, stderr = run(
      f"import os; os.write(2, b'check failed: x > 0\\n'); {end}"
  )
  assert code in (-signal.SIGABRT, -signal.SIGKILL)
  first, last = stderr.splitlines()
  assert first.startswith('the program was killed or crashed; ')
  assert first.endswith('.log ends with:') and str(tmp_path) in first
  assert last == 'check failed: x > 0'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_of_the_whole_group_is_one_line(start, tmp_path, number):
  process = start("""
      import os, time
      os.write(2, b'noise')
      print(1, flush=True)
      time.sleep(60)
  """)
  process.stdout.readline()
  os.killpg(process.pid, number)
  _, stderr = process.communicate(timeout=30)
  assert (process.returncode, stderr) == (128 + number, 'interrupted\n')
  assert not _logs(tmp_path)


def test_messages_are_there_when_the_process_has_ended(start):
  """What a shell shows: the message, then its prompt."""
  read, write = os.pipe()
  os.set_blocking(read, False)
  process = start('raise SystemExit("last words")', stderr=write)
  assert process.wait(30) == 1
  assert os.read(read, 1000) == b'last words\n'


def test_twice_installed_is_once_and_children_are_quiet_too(run, tmp_path):
  code = """
      import os, subprocess, sys
      quiet.install()
      subprocess.run(['sh', '-c', 'echo noise >&2'])
      if not os.fork():
        sys.exit()  # What is registered for the end is for the parent.
      os.wait()
      print(len([n for n in os.listdir('.') if n.endswith('.log')]))
      print('ours', file=sys.stderr)
  """
  assert run(code) == (0, '1\n', 'ours\n')
  assert not _logs(tmp_path)


def test_a_warning_replaces_the_progress_bar_on_a_terminal(start):
  controller, terminal = pty.openpty()
  process = start(
      """
      import warnings
      from srdice_tf.logging import progress
      with progress.Progress(100):
        warnings.warn('careful')
      """,
      stderr=terminal,
  )
  os.close(terminal)
  shown = b''
  with contextlib.suppress(OSError):  # The end of a terminal is an error.
    while data := os.read(controller, 1000):
      shown += data
  os.close(controller)
  assert process.wait(30) == 0
  bar, erased, rest = shown.decode().split('\r', 3)[1:]
  assert bar.startswith('  0% |') and not erased.strip()
  assert rest.startswith('<string>:6: UserWarning: careful\r\n')
  assert rest.count('  0% |') == 2  # Drawn again, and at the end.


def test_closed_stderr_is_no_error():
  process = subprocess.run(
      ['sh', '-c', '"$0" -c "$1" 2>&-', sys.executable, _INSTALL + 'print(1)'],
      stdout=subprocess.PIPE,
      timeout=60,
      check=False,
  )
  assert (process.returncode, process.stdout) == (0, b'1\n')
