"""Tests of Ray, on a real cluster of this machine; skipped without Ray."""

import json
import os
import signal
import sys
import types

import pytest

from srdice_tf import errors
from srdice_tf import locks
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import executors
from srdice_tf.experiments import grids
from srdice_tf.experiments import jobs
from srdice_tf.experiments import ray_executor
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=1000, truth_episodes=5
)
_VALUES = hyperparameters.Hyperparameters(updates=4_000, hidden_units=16)


def _entries(path):
  config = runs.RunConfig(
      _TASK, ('deep_td',), _VALUES, 0, data_root=str(path / 'data')
  )
  configs = grids.configs(config, grids.Grid(num_seeds=2))
  return sweep.plan(configs, str(path / 'runs'))


def _killer(entry, killed):
  """Returns what kills the worker of an entry in the middle of its run."""

  def on_wait(running):
    is_begun = os.path.exists(os.path.join(entry.directory, 'checkpoint'))
    if killed or entry not in running or not is_begun:
      return
    with open(os.path.join(entry.directory, locks.FILE_NAME)) as file:
      text = file.read()
    if text:
      killed.append(json.loads(text)['process'])
      os.kill(killed[0], signal.SIGKILL)

  return on_wait


def test_a_killed_worker_changes_nothing(tmp_path, monkeypatch):
  pytest.importorskip('ray')
  # Beside other tests a nicer one would wait for minutes.
  monkeypatch.setenv('RAY_worker_niceness', '0')
  entries, outcomes, killed = _entries(tmp_path / 'ray'), {}, []
  ray_executor.run_ray(
      entries,
      lambda entry, *outcome: outcomes.update({entry.directory: outcome}),
      _killer(entries[0], killed),
      2,
      '',
  )
  assert outcomes == {e.directory: (jobs.DONE, '') for e in entries}
  assert killed and killed[0] != os.getpid()
  # The one that was killed; each process takes seconds to start.
  alone = _entries(tmp_path / 'local')[:1]
  executors.run_local(
      alone,
      lambda entry, status, text: None,
      lambda running: None,
      1,
      str(tmp_path / 'logs'),
  )
  for entry, other in zip(entries, alone):
    found, expected = jobs.found(entry), jobs.found(other)
    assert found['deep_td'].curve == expected['deep_td'].curve
    assert found['deep_td'].value == expected['deep_td'].value
    assert found.truth == expected.truth


class _BigCluster:
  """Ray as far as it is needed, with eight cores and tasks that do nothing."""

  def cluster_resources(self):
    return {'CPU': 8}

  def remote(self, **options):
    del options
    task = types.SimpleNamespace(remote=lambda batch: batch[0].directory)
    return lambda function: task

  def wait(self, tasks, timeout):
    del timeout
    return tasks[:1], tasks[1:]

  def get(self, task):
    del task
    return [(jobs.DONE, '')]

  def shutdown(self):
    pass


@pytest.mark.parametrize(('num_workers', 'most'), [(1, 1), (0, 2)])
def test_no_more_tasks_than_asked_for_on_a_big_cluster(
    tmp_path, monkeypatch, num_workers, most
):
  # Of timed runs one runs at a time, wherever that is.
  running = []
  monkeypatch.setattr(ray_executor, '_connect', lambda *_: _BigCluster())
  ray_executor.run_ray(
      _entries(tmp_path),
      lambda *_: None,
      lambda entries: running.append(len(entries)),
      num_workers,
      '',
      'a:1',
  )
  assert max(running) == most


def test_a_cluster_that_is_not_there_is_one_line():
  pytest.importorskip('ray')
  with pytest.raises(errors.UserError, match='ray_address=localhost:1: no Ray'):
    ray_executor.run_ray([], None, None, 1, '', 'localhost:1')


def test_without_ray_it_is_said_how_to_get_it(monkeypatch):
  monkeypatch.setitem(sys.modules, 'ray', None)
  with pytest.raises(errors.UserError, match='executor=ray: Ray is not inst'):
    ray_executor.run_ray([], None, None, 1, '')
