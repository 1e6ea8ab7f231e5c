"""How long a grid of runs still takes, learned from those that run."""

from collections.abc import Iterable
import os
import time

from srdice_tf import errors
from srdice_tf.experiments import costs
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.logging import metrics

_LOOK_SECONDS = 15.0  # Between two looks at what runs have written.
_KNOWN_SHARE = 0.02  # Of a run, after which its pace says something.


class Remaining:
  """Compares what runs take with what they were expected to take."""

  def __init__(self, clock=time.monotonic):
    self._clock = clock
    self._begun = {}  # Time, and share that was done before, by directory.
    self._shares = {}
    self._looked = -_LOOK_SECONDS
    self._expected = self._taken = 0.0  # Seconds of runs that were done here.

  def on_running(self, running: Iterable[sweep.Entry]):
    """Notes which runs are running, and every so often how far they are."""
    now = self._clock()
    is_due = now - self._looked >= _LOOK_SECONDS
    for entry in running:
      if entry.directory not in self._begun:
        before = share_done(entry)
        self._begun[entry.directory] = now, before
        self._shares[entry.directory] = before
      elif is_due:
        self._shares[entry.directory] = share_done(entry)
    if is_due:
      self._looked = now

  def on_end(self, entry: sweep.Entry, is_done: bool):
    """Notes that a run has ended."""
    begun, before = self._begun.pop(entry.directory, (None, 0.0))
    self._shares.pop(entry.directory, None)
    if begun is not None and is_done:
      self._expected += entry.seconds * (1.0 - before)
      self._taken += self._clock() - begun

  def seconds(self, left: Iterable[sweep.Entry], num_workers: int) -> float:
    """Returns how long these runs still take, those that run included."""
    left, now = list(left), self._clock()
    expected, taken = self._expected, self._taken
    for entry in left:
      begun, before = self._begun.get(entry.directory, (now, 0.0))
      new = self._shares.get(entry.directory, 0.0) - before
      if new > _KNOWN_SHARE:
        expected += entry.seconds * new
        taken += now - begun
    pace = taken / expected if expected else 1.0
    total = 0.0
    for entry in left:
      begun, before = self._begun.get(entry.directory, (now, 0.0))
      share = self._shares.get(entry.directory, 0.0)
      whole = entry.seconds * pace
      # Between two looks it has gone on.
      spent = before + (now - begun) / whole if whole else 1.0
      total += whole * max(1.0 - max(share, min(spent, 0.9)), 0.0)
    return total / num_workers


def share_done(entry: sweep.Entry) -> float:
  """Returns which share of a run is done, by its metrics.csv; 0 to 1."""
  if not isinstance(entry.config, runs.RunConfig):
    return 0.0
  phases = costs.phases(entry.config)
  path = os.path.join(entry.directory, metrics.FILE_NAME)
  try:
    rows = metrics.read_metrics(path)
  except errors.UserError:
    return 0.0
  steps = {row.phase: row.step for row in rows}
  last = rows[-1].phase if rows else None
  total = sum(cost for _, cost in phases.values())
  if last not in phases or not total:
    return 0.0
  done = 0.0
  for name, (count, cost) in phases.items():
    if name == last:
      return (done + cost * min(steps[name] / max(count, 1), 1.0)) / total
    done += cost  # It was trained, or came from another run.
  return 0.0
