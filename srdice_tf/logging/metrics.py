"""The metrics of a run: metrics.csv, and the same for TensorBoard."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import csv
import io
import os
from typing import NamedTuple

from srdice_tf import csv_file
from srdice_tf import errors
from srdice_tf.logging import tensorboard

FILE_NAME = 'metrics.csv'
# Beside metrics.csv, so that `tensorboard --logdir` finds the whole run. Each
# method has a directory in it and uses the same tags, so that TensorBoard draws
# all methods into one chart.
EVENTS_DIRECTORY = 'events'
# What is known of an estimate, beside what the training tells of itself.
_OF_ESTIMATES = ('estimate', 'log_error', 'flow_residual')
_ADVICE = 'remove the run directory to start again'


class Metric(NamedTuple):
  """A row of metrics.csv: one number, so a new name changes no column."""

  method: str
  phase: str
  step: int
  name: str
  value: float


class MetricsWriter:
  """Appends to the metrics of a run directory, new or resumed.

  A caller that saves a checkpoint first writes the metrics up to it, and calls
  `truncate` when it resumes from it. The CSV then is that of a run that was
  never interrupted. Events cannot be taken back: TensorBoard shows twice, at
  the same place, what is computed again.
  """

  def __init__(self, run_dir: str, settings: Mapping | None = None):
    """Opens the file.

    Args:
      run_dir: of metrics.csv and the events.
      settings: numbers and texts by which TensorBoard's HParams compares runs,
        beside the method.
    """
    os.makedirs(run_dir, exist_ok=True)
    self.run_dir = run_dir
    self._path = os.path.join(run_dir, FILE_NAME)
    self._settings = dict(settings or {})
    self._events = {}  # By method.
    self._open()

  def __enter__(self) -> 'MetricsWriter':
    return self

  def __exit__(self, error_type, error, traceback) -> None:
    self.close()

  def write(
      self, method: str, phase: str, step: int, values: Mapping[str, float]
  ) -> None:
    """Appends numbers by name; on return they outlive a kill of the process."""
    rows = [
        Metric(method, phase, int(step), name, float(value))
        for name, value in values.items()
    ]
    self._file.write(_lines(rows))
    self._file.flush()
    scalars = {_tag(row): row.value for row in rows}
    self._events_of(method).write(int(step), scalars)

  def histogram(self, method: str, name: str, values, step: int) -> None:
    """Shows the distribution of the finite ones of the values in TensorBoard.

    Args:
      method: that the values belong to.
      name: of the values.
      values: [n], an array or a tensor.
      step: of the method, in its last phase.
    """
    self._events_of(method).histogram(int(step), name, values)

  def truncate(self, keep: Callable[[str, str, int], bool]) -> list[Metric]:
    """Drops the rows of metrics.csv that are going to be written again.

    Args:
      keep: takes method, phase and step; whether the checkpoint covers them.

    Returns:
      The rows that are left.

    Raises:
      UserError: if the file is damaged.
    """
    rows = read_metrics(self._path)
    kept = [row for row in rows if keep(row.method, row.phase, row.step)]
    with open(f'{self._path}.tmp', 'wb') as file:
      file.write(_lines([Metric._fields, *kept]))
    self._file.close()
    os.replace(f'{self._path}.tmp', self._path)
    self._open()
    return kept

  def close(self) -> None:
    self._file.close()
    for events in self._events.values():
      events.close()

  def _events_of(self, method: str) -> tensorboard.TensorBoard:
    if method not in self._events:
      path = os.path.join(self.run_dir, EVENTS_DIRECTORY, method)
      self._events[method] = tensorboard.TensorBoard(path)
      self._events[method].settings({**self._settings, 'method': method})
    return self._events[method]

  def _open(self) -> None:
    """Opens the file to append whole lines after its last whole line."""
    self._file = open(self._path, 'ab+')
    self._file.seek(0)
    size = len(_whole_lines(self._file.read()))
    self._file.truncate(size)
    if not size:
      self._file.write(_lines([Metric._fields]))
      self._file.flush()


def _tag(row: Metric) -> str:
  """Returns the same tag for the same number of any method."""
  if row.name in _OF_ESTIMATES:
    return row.name
  phase = 'train' if row.phase == row.method else row.phase
  return f'{phase}/{row.name}'


def read_metrics(path: str) -> list[Metric]:
  """Returns the rows of a metrics.csv that may be being written.

  Args:
    path: of the file.

  Raises:
    errors.UserError: if it is not such a file.
  """
  if not os.path.exists(path):
    raise errors.at(path, 'cannot be read, it is not there', _ADVICE)
  text = ('method', 'phase', 'name')
  rows = csv_file.read(path, Metric._fields, _ADVICE, text, is_growing=True)
  return [Metric(**{**row, 'step': int(row['step'])}) for row in rows]


def _lines(rows: Iterable[tuple]) -> bytes:
  """Returns lines of CSV with all digits of each float."""
  text = io.StringIO()
  csv.writer(text, lineterminator='\n').writerows(rows)
  return text.getvalue().encode()


def _whole_lines(content: bytes) -> bytes:
  """Returns the content without a last line that a kill has cut."""
  return content[: content.rfind(b'\n') + 1]
