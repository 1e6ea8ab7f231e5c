"""An experiment from its plan to its table, by any executor."""

from collections.abc import Callable
import contextlib
import dataclasses
import os
import shutil

import pandas as pd

from srdice_tf import commands
from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import results
from srdice_tf.evaluation import tidy
from srdice_tf.experiments import chain
from srdice_tf.experiments import executors
from srdice_tf.experiments import finished_runs
from srdice_tf.experiments import jobs
from srdice_tf.experiments import kept_runs
from srdice_tf.experiments import planning
from srdice_tf.experiments import remaining
from srdice_tf.experiments import result_file
from srdice_tf.experiments import reward_tables
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import truths
from srdice_tf.logging import progress
from srdice_tf.reports import catalogue
from srdice_tf.reports import chain_table
from srdice_tf.reports import report_page

_LOGS, _REPORT = 'logs', 'report'
_TRUTHS = 'truths'  # Beside the scales of the runs that are kept.


@dataclasses.dataclass(frozen=True)
class Findings:
  """What the runs of an experiment came to.

  Attributes:
    evaluations: of the runs that are done and that the experiment shows.
    by_label: the same, by the label of their setting.
    studies: what runs of other kinds found, the chain or random rewards, each
      after the label of its setting.
    failures: a line for each run that failed, by its directory.
    table: the CSV file of the evaluations.
  """

  evaluations: list[results.Evaluation]
  by_label: dict[str, list[results.Evaluation]]
  studies: list[tuple[str, list[chain.ChainCurve] | results.RandomRewards]]
  failures: dict[str, str]
  table: str


def run(
    plan: planning.Plan,
    command: str = '',
    num_workers: int = 0,
    execute: Callable = executors.run_local,
    match: str = '',
    kept: str = kept_runs.DIRECTORY,
) -> Findings:
  """Runs what is neither done yet nor kept with the package.

  Args:
    plan: the runs.
    command: that a person gave, for experiment.json.
    num_workers: runs at a time; 0 for as many as the executor has cores.
    execute: the executor.
    match: pattern of the runs; see `planning.part`.
    kept: directory of the runs that are kept.

  Raises:
    UserError: if the directory holds another experiment, what is kept is
      damaged, or no run is asked for.
  """
  whole, plan = plan, planning.part(plan, match)
  planning.write(whole, command)
  if plan.experiment.is_timed:
    num_workers = 1
  board = _Board(plan, num_workers or len(os.sched_getaffinity(0)))
  with progress.Progress(
      len(plan.entries), 'runs', f'{plan.name} ({plan.scale})'
  ) as bar:
    board.show_on(bar)
    board.restore(_kept(plan, kept))
    board.read_others(whole)
    todo = board.read_finished()
    logs = os.path.join(plan.directory, _LOGS)
    for here, place in _truth_places(todo, kept).items():
      truths.merge(place, here)
    if todo:
      execute(todo, board.on_outcome, board.on_wait, num_workers, logs)
    board.on_wait([])
  return board.findings()


def keep(plan: planning.Plan, kept: str = kept_runs.DIRECTORY) -> int:
  """Keeps the finished runs of an experiment; returns their number.

  A table of all that it shows, for people, is written beside them, and the
  roll-outs that their true values were measured by. Runs that are damaged are
  left out; to run again says what they lack.

  Raises:
    UserError: if what is kept is damaged.
  """
  done = {}
  for entry in plan.entries:
    with contextlib.suppress(errors.UserError):
      if (found := jobs.found(entry)) is not None:
        done[entry.directory] = entry, found
  tables = {
      os.path.relpath(plan.shown[path], plan.directory): _table(found)
      for path, (_, found) in done.items()
      if path in plan.shown
  }
  if tables:
    tidy.keep(os.path.join(kept, plan.scale, f'{plan.name}.csv'), tables)
  entries = [entry for entry, _ in done.values()]
  for here, place in _truth_places(entries, kept).items():
    truths.merge(here, place)
  return _kept(plan, kept).keep(entries, plan.name)


def _table(found: jobs.Finding) -> pd.DataFrame:
  """Returns what a run found as a tidy table."""
  if isinstance(found, results.Evaluation):
    return tidy.frame([found])
  if isinstance(found, results.RandomRewards):
    return reward_tables.frame(found)
  return chain_table.frame(found)


def write_out(root: str, kept: str = kept_runs.DIRECTORY) -> list[str]:
  """Writes out all runs that are kept, as if they had been run there.

  Args:
    root: directory of all experiments.
    kept: directory of the runs that are kept.

  Returns:
    A line for each run that is of other settings than its experiment now has.

  Raises:
    UserError: if what is kept is damaged.
  """
  ignored = []
  for scale, name in kept_runs.experiments(kept):
    plan = planning.plan(name, scale, root)
    command = commands.line('run_experiment', experiment=name, scale=scale)
    planning.write(plan, command)
    lines = _kept(plan, kept)
    for entry in plan.entries:
      reason = lines.restore(entry)
      if reason:
        run = os.path.relpath(entry.directory, root)
        ignored.append(f'ignored       {run}, kept with {reason}')
    for run, shown in plan.shown.items():
      if result_file.exists(run):
        _copy(run, shown)
  return ignored


def _kept(plan: planning.Plan, directory: str) -> kept_runs.KeptRuns:
  place = os.path.dirname(plan.directory)
  return kept_runs.KeptRuns(place, plan.scale, directory)


def _truth_places(entries: list[sweep.Entry], kept: str) -> dict[str, str]:
  """Returns where true values of runs are kept, by where they are here."""
  configs = [e.config for e in entries if isinstance(e.config, runs.RunConfig)]
  here = {config.truth_dir for config in configs}
  return {p: os.path.join(kept, _TRUTHS, os.path.basename(p)) for p in here}


def write_report(plan: planning.Plan) -> str:
  """Writes the page of what was run so far; returns its path.

  Raises:
    UserError: if no run is finished.
  """
  groups = finished_runs.read(plan.directory)
  return report_page.write(groups, os.path.join(plan.directory, _REPORT))


class _Board:
  """Knows how far the runs are, and keeps the table."""

  def __init__(self, plan: planning.Plan, num_workers: int):
    self._plan = plan
    self._num_workers = num_workers
    self._found: dict[str, jobs.Finding] = {}
    self._failures: dict[str, str] = {}
    self._left = {entry.directory: entry for entry in plan.entries}
    self._remaining = remaining.Remaining()

  def show_on(self, bar: progress.Progress):
    self._bar = bar

  def restore(self, kept: kept_runs.KeptRuns):
    """Writes out the runs that are kept and not done here."""
    needed, ignored = set(), {}
    # A run comes after those it needs, and needs more than what is kept.
    for entry in reversed(self._plan.entries):
      if entry.directory in needed or kept_runs.is_there(entry.directory):
        continue
      reason = kept.restore(entry)
      if reason:
        ignored.setdefault(reason, []).append(entry)
      if not kept_runs.is_there(entry.directory):
        needed.update(entry.after)
    for reason, same in ignored.items():
      self._bar.say(f'ignored       {len(same)} kept runs with {reason}')

  def read_others(self, whole: planning.Plan):
    """Reads finished runs that are not asked for: the table has them, too."""
    for entry in whole.entries:
      if entry.directory not in self._left:
        with contextlib.suppress(errors.UserError):
          self._keep(entry)

  def read_finished(self) -> list[sweep.Entry]:
    """Reads what earlier runs found; returns the entries that are left."""
    for entry in self._plan.entries:
      try:
        if jobs.found(entry) is not None:
          self.on_outcome(entry, jobs.DONE, '')
      except errors.UserError as error:
        self.on_outcome(entry, jobs.FAILED, str(error))
    return [e for e in self._plan.entries if e.directory in self._left]

  def on_outcome(self, entry: sweep.Entry, status: str, text: str):
    """Notes what became of a run; writes the table."""
    self._left.pop(entry.directory, None)
    self._remaining.on_end(entry, status == jobs.DONE)
    if status == jobs.DONE:
      try:
        self._keep(entry)
      except errors.UserError as error:
        status, text = jobs.FAILED, str(error)
    if status == jobs.FAILED:
      self._failures[entry.directory] = text
      self._bar.say(
          catalogue.failure(entry.directory, text, self._plan.directory)
      )

  def _keep(self, entry: sweep.Entry):
    found = jobs.found(entry)
    if found is None or entry.directory not in self._plan.shown:
      return
    self._found[entry.directory] = found
    if isinstance(found, results.Evaluation):
      _copy(entry.directory, self._plan.shown[entry.directory])
      tidy.write(self._table, tidy.frame(self._evaluations()))

  @property
  def _table(self) -> str:
    return os.path.join(self._plan.directory, sweep.TABLE)

  def _shown(self) -> dict[str, jobs.Finding]:
    shown = self._plan.shown
    return {path: self._found[path] for path in shown if path in self._found}

  def _evaluations(self) -> list[results.Evaluation]:
    found = self._shown().values()
    return [each for each in found if isinstance(each, results.Evaluation)]

  def on_wait(self, running):
    """Draws the line of the whole grid."""
    self._remaining.on_running(running)
    left = self._remaining.seconds(self._left.values(), self._num_workers)
    num_done = (
        len(self._plan.entries) - len(self._left) - len(self._failures)
    )
    self._bar.update(
        num_done,
        left,
        running=len(running),
        failed=len(self._failures),
    )

  def findings(self) -> Findings:
    by_label, studies = {}, []
    for entry in self._plan.entries:
      found = self._found.get(entry.directory)
      if isinstance(found, results.Evaluation):
        by_label.setdefault(entry.label, []).append(found)
      elif found is not None:
        studies.append((entry.label, found))
    return Findings(
        self._evaluations(), by_label, studies, self._failures, self._table
    )


def _copy(run: str, shown: str):
  """Copies what a run found to where another experiment shows it."""
  if run == shown:
    return
  os.makedirs(shown, exist_ok=True)
  # The result comes last: with it the copy is whole.
  names = config_file.FILE_NAME, finished_runs.ORIGIN, result_file.FILE_NAME
  for name in names:
    source, path = os.path.join(run, name), os.path.join(shown, name)
    if os.path.exists(source):
      shutil.copyfile(source, f'{path}.tmp')
      os.replace(f'{path}.tmp', path)
