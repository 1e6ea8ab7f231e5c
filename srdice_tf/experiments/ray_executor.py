"""Runs the entries of a plan as tasks of a Ray cluster.

The cluster's machines share the directories of runs and data. A task whose
machine is lost is started again by Ray and goes on from the run's checkpoint.
"""

import importlib
import os
import socket
import time
import warnings

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.experiments import executors
from srdice_tf.experiments import jobs

_RETRIES = 5
_MEMORY = 2 * 2**30  # Bytes that a run may need.
_WAIT_SECONDS, _CONNECT_SECONDS = 1.0, 10.0


def run_ray(
    entries,
    on_outcome: executors.OnOutcome,
    on_wait: executors.OnWait,
    num_workers: int,
    log_dir: str,
    address: str = '',
):
  """Runs each entry as a task with one core.

  Args:
    entries: of a plan.
    on_outcome: called with an entry, jobs.DONE or jobs.FAILED, and a line.
    on_wait: called with the entries that run.
    num_workers: tasks at a time; 0 for one a core of the cluster.
    log_dir: plays no part; Ray keeps what its tasks say.
    address: of a cluster that is there; '' starts one on this machine.

  Raises:
    UserError: if Ray is not installed, or the cluster does not answer.
  """
  del log_dir
  ray = _connect(num_workers, address)
  try:
    _run(ray, entries, on_outcome, on_wait, num_workers)
  finally:
    ray.shutdown()


def _connect(num_workers: int, address: str):
  """Returns the module ray, connected to a cluster."""
  try:
    ray = importlib.import_module('ray')  # An extra of the package.
  except ImportError:
    raise errors.UserError(
        'executor', 'ray', f'Ray is not installed; {commands.install("ray")}'
    ) from None
  options = {
      'runtime_env': {'env_vars': executors.ONE_THREAD},
      'log_to_driver': False,
      'logging_level': 'error',
  }
  # Ray tells of its later versions.
  with warnings.catch_warnings(action='ignore', category=FutureWarning):
    if not address:
      num_cores = num_workers or len(os.sched_getaffinity(0))
      ray.init(num_cpus=num_cores, include_dashboard=False, **options)
      return ray
    _check_answers(address)
    try:
      ray.init(address=address, **options)
    except (ConnectionError, TimeoutError, RuntimeError, ValueError) as error:
      raise _unreachable(address, error) from error
  return ray


def _check_answers(address: str):
  """Raises an error if nobody listens; Ray itself would try for minutes."""
  host, _, port = address.rpartition('://')[2].rpartition(':')
  if not port.isdecimal():
    return  # Such as 'auto', which Ray looks up.
  try:
    socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
  except OSError as error:
    raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> errors.UserError:
  reason = ' '.join(str(error).split())[:200]
  return errors.UserError(
      'ray_address', address, f'no Ray cluster answers there ({reason})'
  )


def _run(ray, entries, on_outcome, on_wait, num_workers: int):
  # SIGKILL of a process and the loss of a machine are retried, errors are not:
  # `attempt` catches them.
  attempt = ray.remote(num_cpus=1, memory=_MEMORY, max_retries=_RETRIES)(
      _attempt
  )
  # Runs whose time is measured have a cluster to themselves.
  most = num_workers or int(ray.cluster_resources().get('CPU', 1))
  queue, tasks = executors.Queue(entries, on_outcome, most), {}
  try:
    while queue.waiting or tasks:
      while len(tasks) < most and (batch := queue.take()):
        tasks[attempt.remote(batch)] = batch
      on_wait([batch[0] for batch in tasks.values()])
      if not tasks:
        time.sleep(_WAIT_SECONDS)  # Others run what is left.
        continue
      done, _ = ray.wait(list(tasks), timeout=_WAIT_SECONDS)
      for task in done:
        _report(ray, queue, task, tasks.pop(task))
  finally:
    for task in tasks:
      ray.cancel(task)


def _report(ray, queue: executors.Queue, task, batch):
  try:
    outcomes = ray.get(task)
  except ray.exceptions.RayError as error:
    reason = ' '.join(str(error).split())[:200]
    text = f'its task died {_RETRIES + 1} times ({reason})'
    outcomes = [(jobs.FAILED, text)] * len(batch)
  for entry, (status, text) in zip(batch, outcomes):
    queue.report(entry, status, text)


def _attempt(batch) -> list[tuple[str, str]]:
  cache = {}
  return [jobs.attempt(entry, cache) for entry in batch]
