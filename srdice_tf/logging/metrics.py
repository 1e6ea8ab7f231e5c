"""The metrics of a run: metrics.csv, and the same for TensorBoard."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import csv
import io
import os
from typing import NamedTuple

import numpy as np
from tensorboard.plugins.hparams import api as hparams_api
import tensorflow as tf

from srdice_tf import errors

FILE_NAME = 'metrics.csv'
# Beside metrics.csv, so that `tensorboard --logdir` finds a run as a whole.
EVENTS_DIRECTORY = 'events'
_ADVICE = 'remove the run directory to begin anew'
# What is known of an estimate, beside what the training tells of itself.
_OF_ESTIMATES = ('estimate', 'log_error', 'flow_residual')
_MOST_VALUES = 50_000  # Of a histogram.


class Metric(NamedTuple):
  """A row of metrics.csv: one number, so that a new name changes no column."""

  method: str
  phase: str
  step: int
  name: str
  value: float


class MetricsWriter:
  """Appends to the metrics of a run directory, new or resumed.

  A caller that saves a checkpoint writes the metrics up to it before, and calls
  `truncate` when it resumes from it: the CSV then ends up as that of a run that
  was never interrupted. Events cannot be taken back: TensorBoard shows what is
  computed again twice, at the same place.

  Each method is a run of TensorBoard's, with the same tags: methods lie over
  each other in one chart.
  """

  def __init__(self, run_dir: str, hparams: Mapping | None = None):
    """Opens the file.

    Args:
      run_dir: of metrics.csv and the events.
      hparams: what TensorBoard's HParams compares runs by, beside the method:
        numbers and texts.
    """
    os.makedirs(run_dir, exist_ok=True)
    self.run_dir = run_dir
    self._path = os.path.join(run_dir, FILE_NAME)
    self._hparams = dict(hparams or {})
    self._events = {}
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
    with self._events_of(method).as_default(step=int(step)):  # Flushes.
      for row in rows:
        tf.summary.scalar(_tag(row), row.value)

  def histogram(self, method: str, name: str, values, step: int) -> None:
    """Shows the distribution of the finite ones of the values in TensorBoard.

    Of very many, only every k-th: the event needs 240 bytes for each of them.

    Args:
      method: that the values belong to.
      name: of the values.
      values: [n], an array or a tensor.
      step: of the method, in its last phase.
    """
    values = np.asarray(values, np.float64)  # [n]
    values = values[:: max(1, -(-values.size // _MOST_VALUES))]
    with self._events_of(method).as_default(step=int(step)):
      tf.summary.histogram(name, values[np.isfinite(values)])

  def truncate(self, keep: Callable[[str, str, int], bool]) -> list[Metric]:
    """Drops the rows of metrics.csv that are going to be made again.

    Args:
      keep: of method, phase and step; whether the checkpoint covers them.

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

  def _events_of(self, method: str):
    if method not in self._events:
      path = os.path.join(self.run_dir, EVENTS_DIRECTORY, method)
      self._events[method] = tf.summary.create_file_writer(path)
      with self._events[method].as_default():
        hparams_api.hparams({**self._hparams, 'method': method})
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
  """Returns the rows of a metrics.csv, which may be in the course of writing.

  Args:
    path: of the file.

  Raises:
    errors.UserError: if it is no such file.
  """
  try:
    with open(path, 'rb') as file:
      text = _whole_lines(file.read()).decode()
  except (OSError, UnicodeDecodeError) as error:
    raise errors.at(path, f'cannot be read ({error})', _ADVICE) from error
  lines = list(csv.reader(io.StringIO(text)))
  header = ','.join(Metric._fields)
  if lines and lines[0] != list(Metric._fields):
    found = ','.join(lines[0])
    raise errors.at(path, f'found {found[:80]}, expected {header}', _ADVICE)
  return [_metric(path, cells, header) for cells in lines[1:]]


def _metric(path: str, cells: list[str], header: str) -> Metric:
  try:
    method, phase, step, name, value = cells
    return Metric(method, phase, int(step), name, float(value))
  except ValueError as error:
    found = ','.join(cells)
    raise errors.at(
        path, f'found the line {found[:80]!r}, expected {header}', _ADVICE
    ) from error


def _lines(rows: Iterable[tuple]) -> bytes:
  """Returns lines of CSV, in which floats are written to the last bit."""
  text = io.StringIO()
  csv.writer(text, lineterminator='\n').writerows(rows)
  return text.getvalue().encode()


def _whole_lines(content: bytes) -> bytes:
  """Returns the content without a last line that a kill may have torn."""
  return content[: content.rfind(b'\n') + 1]
