"""Tests of runs in processes of their own, on the chain."""

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import time
import types

import pytest

from srdice_tf import locks
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import executors
from srdice_tf.experiments import grids
from srdice_tf.experiments import jobs
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks
from tests.experiments import warm_workers

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=1000, truth_episodes=5,
    gamma=0.9, num_envs=10,
)
_VALUES = hyperparameters.Hyperparameters(linear_ridge=1e-6, bootstrap_draws=20)


def _entries(path, grid, algo='linear_srdice', **values):
  config = runs.RunConfig(
      _TASK,
      (algo,),
      _VALUES.replace(**values),
      0,
      data_root=str(path / 'data'),
  )
  return sweep.plan(grids.configs(config, grid), str(path / 'runs'))


@pytest.fixture(name='warm')
def _warm(monkeypatch):
  """Saves seconds of imports in each process that executors start."""
  monkeypatch.setattr(executors, 'subprocess', warm_workers.SUBPROCESS)


class _Log:
  """Notes what an executor reports."""

  def __init__(self):
    self.outcomes, self.most = {}, 0

  def on_outcome(self, entry, status, text):
    self.outcomes[entry.directory] = status, text

  def on_wait(self, running):
    self.most = max(self.most, len(running))


def _run(entries, path, num_workers=2, on_wait=None):
  log = _Log()
  executors.run_local(
      entries,
      log.on_outcome,
      on_wait or log.on_wait,
      num_workers,
      str(path / 'logs'),
  )
  return log


@pytest.mark.usefixtures('warm')
def test_processes_find_what_one_process_finds(tmp_path):
  """A run that fails does not stop the others."""
  grid = grids.Grid(num_seeds=2)
  entries = _entries(tmp_path / 'a', grid)
  bad, later = _failing(entries[0])
  log = _run([bad, later, *entries], tmp_path)
  status, text = log.outcomes.pop(bad.directory)
  assert status == jobs.FAILED and 'holds result.json of a run' in text
  status, text = log.outcomes.pop(later.directory)
  assert status == jobs.FAILED and text.endswith('which failed')
  assert log.outcomes == {e.directory: (jobs.DONE, '') for e in entries}
  assert log.most == 2
  others = _entries(tmp_path / 'b', grid)
  table = str(tmp_path / 'b' / sweep.TABLE)
  for entry, alone in zip(entries, sweep.run(others, table)):
    found = jobs.found(entry)
    assert found['linear_srdice'].value == alone['linear_srdice'].value
    assert found.truth == alone.truth


def _failing(entry):
  """Returns an entry that cannot be run, and one that needs it."""
  bad = dataclasses.replace(entry, directory=f'{entry.directory}bad')
  os.makedirs(bad.directory)
  with open(os.path.join(bad.directory, 'result.json'), 'w') as file:
    file.write('{')
  later = dataclasses.replace(
      entry, directory=f'{entry.directory}later', after=(bad.directory,)
  )
  return bad, later


@pytest.mark.usefixtures('warm')
def test_a_killed_process_is_one_line_and_its_run_resumes(tmp_path):
  killed, other = _entries(
      tmp_path, grids.Grid(num_seeds=2), 'deep_td', updates=2000,
      hidden_units=16,
  )
  pids = []

  def kill_first(running):
    if pids or killed not in running:
      return
    # The process that holds the lock says so in it.
    path = os.path.join(killed.directory, locks.FILE_NAME)
    if os.path.exists(os.path.join(killed.directory, 'metrics.csv')):
      with open(path) as file:
        pids.append(int(file.read().split('"process": ')[1].split(',')[0]))
      os.kill(pids[0], signal.SIGKILL)

  log = _run([killed, other], tmp_path, on_wait=kill_first)
  status, text = log.outcomes[killed.directory]
  assert status == jobs.FAILED
  assert 'killed by SIGKILL' in text and '\n' not in text
  assert log.outcomes[other.directory][0] == jobs.DONE
  # Its lock died with it.
  assert not locks.is_held(killed.directory)
  assert _run([killed], tmp_path).outcomes[killed.directory][0] == jobs.DONE


@pytest.mark.usefixtures('warm')
def test_a_run_of_another_sweep_is_waited_for(tmp_path, monkeypatch):
  monkeypatch.setattr(executors, '_RETRY_SECONDS', 0.5)
  held, free = _entries(tmp_path, grids.Grid(num_seeds=2))
  os.makedirs(held.directory)
  lock = locks.Lock(held.directory, 'output_dir')
  assert locks.is_held(held.directory)
  order = []

  def on_outcome(entry, status, text):
    order.append((entry.directory, status))
    lock.release()

  executors.run_local(
      [held, free], on_outcome, lambda running: None, 1, str(tmp_path / 'logs')
  )
  assert order == [(free.directory, jobs.DONE), (held.directory, jobs.DONE)]


@pytest.mark.usefixtures('warm')
def test_workers_of_other_programs_have_their_cores(monkeypatch):
  cores = sorted(os.sched_getaffinity(0))
  # A worker by its name.
  command = ['sh', '-c', 'echo; read line', 'srdice_tf.experiments.worker']
  pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}
  with subprocess.Popen(command, **pipes) as worker:
    worker.stdout.readline()  # A process has no name before it runs.
    path, gone = f'/proc/{worker.pid}/cmdline', '/proc/999999999/cmdline'
    monkeypatch.setattr(executors.glob, 'glob', lambda _: [path, gone])
    for core in cores:
      os.sched_setaffinity(worker.pid, {core})
      others = [other for other in cores if other != core]
      assert executors._freest_core() == min(others, default=core)
    worker.stdin.close()


def test_runs_on_other_data_come_first(tmp_path):
  """Two on the same data would wait for each other's phi and psi."""
  first, second, other, last = (
      sweep.Entry(types.SimpleNamespace(dataset_dir=data), str(tmp_path / name))
      for data, name in ('a1', 'a2', 'b3', 'a4')
  )
  queue = executors.Queue([first, second, other, last], lambda *_: None, 3)
  assert [queue.take(), queue.take()] == [[first], [other]]
  queue.report(first, jobs.DONE, '')
  assert queue.take() == [second]
  assert queue.take() == [last]  # Nothing else is left.
  assert queue.take() is None


def test_parts_of_a_data_set_share_a_process(tmp_path):
  entries = _entries(tmp_path, grids.Grid(num_parts=3))
  log = _run(entries, tmp_path)
  assert [status for status, _ in log.outcomes.values()] == [jobs.DONE] * 3
  assert len(os.listdir(tmp_path / 'logs')) == 2


def test_workers_save_and_stop_if_their_parent_is_killed(tmp_path):
  (entry,) = _entries(
      tmp_path, grids.Grid(), 'deep_td', updates=10**6, hidden_units=16
  )
  script = (
      'import pickle, sys\n'
      'from srdice_tf.experiments import executors\n'
      'entry = pickle.loads(bytes.fromhex(sys.argv[1]))\n'
      'executors.run_local([entry], print, lambda running: None, 1,'
      ' sys.argv[2])\n'
  )
  parent = subprocess.Popen(
      [
          sys.executable, '-c', script, pickle.dumps(entry).hex(),
          str(tmp_path / 'logs'),
      ],
      cwd=_ROOT,
      preexec_fn=lambda: os.nice(3),
  )
  _until(lambda: os.path.exists(os.path.join(entry.directory, 'checkpoint')))
  _check_niceness(entry.directory)
  parent.kill()
  parent.wait()
  _until(lambda: not locks.is_held(entry.directory))
  assert os.listdir(os.path.join(entry.directory, 'checkpoint'))


def _check_niceness(run_dir):
  """Checks that the worker's session is as nice as who started it."""
  with open(os.path.join(run_dir, locks.FILE_NAME)) as file:
    pid = file.read().split('"process": ')[1].split(',')[0]
  path = f'/proc/{pid}/autogroup'
  if os.path.exists(path):
    with open(path) as file:
      assert file.read().endswith('nice 3\n')


def _until(holds, seconds=120):
  end = time.monotonic() + seconds
  while not holds():
    assert time.monotonic() < end
    time.sleep(0.2)
