"""Runs the entries of a plan in processes of this machine.

An executor is a function `run(entries, on_outcome, on_wait, ...)`. It runs each
entry, calls `on_outcome(entry, status, text)` when one is done or has failed,
and `on_wait(running)` every so often with those that run.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import glob
import json
import os
import pickle
import signal
import subprocess
import sys
import time

from srdice_tf import locks
from srdice_tf.experiments import jobs
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep

OnOutcome = Callable[[sweep.Entry, str, str], None]
OnWait = Callable[[Sequence[sweep.Entry]], None]

_PROGRAM = 'srdice_tf.experiments.worker'
_POLL_SECONDS = 0.2
# Until a run of another process is looked at again.
_RETRY_SECONDS = 5.0
ONE_THREAD = {
    name: '1'
    for name in (
        'OMP_NUM_THREADS',
        'OPENBLAS_NUM_THREADS',
        'MKL_NUM_THREADS',
        'TF_NUM_INTRAOP_THREADS',
        'TF_NUM_INTEROP_THREADS',
    )
}


def run_local(
    entries: Sequence[sweep.Entry],
    on_outcome: OnOutcome,
    on_wait: OnWait,
    num_workers: int,
    log_dir: str,
):
  """Runs each entry in a process of its own, with one thread on one core.

  A process that crashes or is killed touches no other. On Ctrl-C all are told
  to save and to stop, and waited for.

  Args:
    entries: of a plan.
    on_outcome: called with an entry, jobs.DONE or jobs.FAILED, and a line.
    on_wait: called with the entries that run.
    num_workers: processes at a time; 0 for one a core.
    log_dir: gets what each process says.
  """
  os.makedirs(log_dir, exist_ok=True)
  num_workers = num_workers or len(os.sched_getaffinity(0))
  queue = Queue(entries, on_outcome, num_workers)
  slots: list[_Worker | None] = [None] * num_workers
  try:
    while queue.waiting or any(slots):
      for slot, worker in enumerate(slots):
        if worker is not None and worker.poll(queue):
          slots[slot] = worker = None
        if worker is None and (batch := queue.take()):
          slots[slot] = _Worker(batch, _freest_core(), log_dir)
      on_wait([w.current for w in slots if w is not None and w.current])
      time.sleep(_POLL_SECONDS)
  finally:
    _stop([worker for worker in slots if worker is not None])


def _freest_core() -> int:
  """Returns the core with the fewest workers, those of other programs too."""
  taken = collections.Counter()
  for path in glob.glob('/proc/[0-9]*/cmdline'):
    with contextlib.suppress(OSError):  # It has ended.
      with open(path, 'rb') as file:
        if _PROGRAM.encode() in file.read().split(b'\0'):
          taken.update(os.sched_getaffinity(int(path.split(os.sep)[2])))
  return min(sorted(os.sched_getaffinity(0)), key=taken.__getitem__)


class Queue:
  """The entries that wait, in batches for one process each."""

  def __init__(self, entries, on_outcome: OnOutcome, num_workers: int):
    """Cuts entries into batches: parts of one data set, else each its own."""
    self.waiting = _batches(entries, num_workers)
    self._on_outcome = on_outcome
    self._open = {entry.directory for entry in entries}
    self._taken = {}  # Data of the entries that run.
    self._failed = set()
    self._not_before = {}

  def take(self) -> list[sweep.Entry] | None:
    """Returns what can be run now; None if nothing can.

    Runs on the same data wait for one another's phi and psi: others come
    before them.
    """
    first = None
    for batch in self._able():
      first = first or batch
      if _data(batch[0]) not in self._taken.values():
        first = batch
        break
    if first:
      self.waiting.remove(first)
      self._taken.update({e.directory: _data(e) for e in first})
    return first

  def _able(self) -> Iterator[list[sweep.Entry]]:
    """Yields batches that need nothing that is not done."""
    for batch in list(self.waiting):
      needed = {path for entry in batch for path in entry.after}
      if needed & self._failed:
        self.waiting.remove(batch)
        for entry in batch:
          path = min(needed & self._failed)
          self.report(entry, jobs.FAILED, f'it needs {path}, which failed')
      elif not needed & self._open and self._is_free(batch[0]):
        yield batch

  def _is_free(self, entry: sweep.Entry) -> bool:
    """Whether no other process runs an entry, as far as is known."""
    now = time.monotonic()
    if now < self._not_before.get(entry.directory, 0.0):
      return False
    if not locks.is_held(entry.directory):
      return True
    self._not_before[entry.directory] = now + _RETRY_SECONDS
    return False

  def report(self, entry: sweep.Entry, status: str, text: str):
    """Notes what became of an entry; a busy one waits again."""
    self._taken.pop(entry.directory, None)
    if status == jobs.BUSY:
      later = time.monotonic() + _RETRY_SECONDS
      self._not_before[entry.directory] = later
      self.waiting.append([entry])
      return
    self._open.discard(entry.directory)
    if status == jobs.FAILED:
      self._failed.add(entry.directory)
    self._on_outcome(entry, status, text)


def _data(entry: sweep.Entry) -> str:
  """Returns what is no other entry's where an entry has no data of its own."""
  return getattr(entry.config, 'dataset_dir', '') or entry.directory


def _batches(entries, num_workers: int) -> list[list[sweep.Entry]]:
  """Returns lists of entries; parts of a data set share few processes."""
  found, parts = [], {}
  for entry in entries:
    config = entry.config
    if isinstance(config, runs.RunConfig) and config.num_parts > 1:
      parts.setdefault(config.dataset_dir, []).append(entry)
    else:
      found.append([entry])
  for same in parts.values():
    size = -(-len(same) // num_workers)
    found += [same[i : i + size] for i in range(0, len(same), size)]
  return found


class _Worker:
  """A process with the entries that it has not answered for yet."""

  def __init__(self, entries: Iterable[sweep.Entry], core: int, log_dir: str):
    self.entries = list(entries)
    name = '_'.join(self.entries[0].directory.split(os.sep)[-3:])
    self._log_path = os.path.join(log_dir, f'{name}.log')
    program = sys.executable, '-m', _PROGRAM
    with open(self._log_path, 'ab') as log:
      self._process = subprocess.Popen(
          [*program, str(os.getpid())],
          stdin=subprocess.PIPE,
          stdout=subprocess.PIPE,
          stderr=log,
          env={**os.environ, **ONE_THREAD},
          start_new_session=True,  # Ctrl-C is told to it by us.
      )
    os.sched_setaffinity(self._process.pid, {core})
    os.set_blocking(self._process.stdout.fileno(), False)
    self._answers = b''
    self._send()

  @property
  def current(self) -> sweep.Entry | None:
    return self.entries[0] if self.entries else None

  def _send(self):
    try:
      with self._process.stdin as file:
        pickle.dump(self.entries, file)
    except BrokenPipeError:
      pass  # It has died; `poll` finds out how.

  def poll(self, queue: Queue) -> bool:
    """Reports what it has answered; returns whether it has ended."""
    code = self._process.poll()
    self._answers += self._process.stdout.read() or b''
    *lines, self._answers = self._answers.split(b'\n')
    for line in lines:
      answer = json.loads(line)
      queue.report(self.entries.pop(0), answer['status'], answer['text'])
    if code is None:
      return False
    self._process.stdout.close()
    for index, entry in enumerate(self.entries):
      if index:
        queue.report(entry, jobs.BUSY, '')  # The next process takes it.
      else:
        queue.report(entry, jobs.FAILED, self._death(code))
    return True

  def _death(self, code: int) -> str:
    """Returns one line on a process that ended without an answer."""
    how = f'ended with the code {code}'
    if code < 0:
      how = f'was killed by {signal.Signals(-code).name}'
    if code == -signal.SIGKILL:
      how += ', as for want of memory; try fewer workers'
    return f'its process {how}; the same command resumes it ({self._log_path})'

  def stop(self):
    self._process.terminate()

  def wait(self):
    self._process.wait()


def _stop(workers: Sequence[_Worker]):
  """Tells processes to save and to end, and waits for them."""
  for worker in workers:
    worker.stop()
  for worker in workers:
    worker.wait()
