"""Tests for the lock of a directory."""

import os
import subprocess
import sys

import pytest

from srdice_tf import errors
from srdice_tf import locks
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import chain
from srdice_tf.experiments import runs
from srdice_tf.experiments import tasks

_HOLDER = """
import sys, time
from srdice_tf import locks
lock = locks.Lock(sys.argv[1], 'it')
print('held', flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
  process = subprocess.Popen(
      [sys.executable, '-c', _HOLDER, str(tmp_path)],
      stdout=subprocess.PIPE,
      text=True,
  )
  assert process.stdout.readline() == 'held\n'
  yield process
  process.kill()
  process.communicate()


@pytest.mark.parametrize('shared', [False, True])
def test_the_second_is_told_who_is_first(tmp_path, holder, shared):
  expected = f'^output_dir={tmp_path}: is in use by process {holder.pid} on .* '
  with pytest.raises(errors.UserError, match=f'{expected}since 20') as error:
    locks.Lock(str(tmp_path), 'output_dir', shared)
  assert '\n' not in str(error.value)


def test_a_dead_process_holds_nothing(tmp_path, holder):
  holder.kill()
  holder.wait()
  with locks.Lock(str(tmp_path), 'x'):
    # Its place is taken; the message no longer names the dead one.
    with pytest.raises(errors.UserError, match=f'process {os.getpid()} '):
      locks.Lock(str(tmp_path), 'x')
  locks.Lock(str(tmp_path), 'x').release()


def test_readers_share(tmp_path):
  directory = str(tmp_path)
  with locks.Lock(directory, 'x', shared=True):
    with locks.Lock(directory, 'x', shared=True):
      with pytest.raises(errors.UserError, match='^x=.*: is being read by an'):
        locks.Lock(directory, 'x')
  locks.Lock(directory, 'x').release()


def test_a_directory_that_cannot_be_written_can_be_read(tmp_path, monkeypatch):
  def refuse(path, *unused):
    raise PermissionError(13, 'Permission denied', path)

  monkeypatch.setattr(os, 'open', refuse)
  locks.Lock(str(tmp_path), 'x', shared=True).release()
  with pytest.raises(errors.UserError, match='^x=.*: Permission denied'):
    locks.Lock(str(tmp_path), 'x')


def test_runs_lock_their_directories(tmp_path):
  task = tasks.TaskConfig('GridWalk', policy='random', num_transitions=100)
  evaluation = runs.RunConfig(
      task,
      ('tabular_srdice',),
      hyperparameters.Hyperparameters(),
      seed=0,
      dataset_dir=str(tmp_path / 'data'),
  )
  for run, config in (
      (runs.run, evaluation),
      (chain.run, chain.ChainConfig()),
  ):
    with locks.Lock(str(tmp_path), 'x'):
      with pytest.raises(errors.UserError, match='output_dir=.* is in use'):
        run(config, str(tmp_path))
  assert os.listdir(tmp_path) == [locks.FILE_NAME]
