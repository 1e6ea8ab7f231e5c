"""A progress line with rate and remaining time."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import math
import os
import sys
import time

import tqdm

_TERMINAL_SECONDS = 0.1
_PLAIN_SECONDS = 10.0
# After so long the rest is estimated, and foretold if it is long.
_LOOK_SECONDS, _LONG_SECONDS = 2.0, 60.0
_PLAIN = '{desc}{share} {count} {speed} {elapsed}{left}{values}'
_TERMINAL = _PLAIN.replace('{share}', '{share} |{bar}|')
_LEAST_BAR = 8  # Columns, with its frame.

_is_off = contextvars.ContextVar('is_off', default=False)


@contextlib.contextmanager
def off() -> Iterator[None]:
  """Shows no progress within the context."""
  token = _is_off.set(True)
  try:
    yield
  finally:
    _is_off.reset(token)


class Progress:
  """Shows how far work is, on one line of a terminal.

  Where stderr is no terminal, a plain line is printed every ten seconds and
  one at the end.

      with progress.Progress(num_steps, label='train') as bar:
        for step in range(num_steps):
          ...
          bar.update(step + 1, loss=loss)
  """

  def __init__(
      self,
      total: int,
      unit: str = 'steps',
      label: str = '',
      initial: int = 0,
  ):
    """Makes a line that appears on entering the context.

    Args:
      total: the amount of work, in `unit`s.
      unit: of the work, in the plural.
      label: what is being done.
      initial: work that an earlier run did; rate and remaining time count
        only what is new.
    """
    self._arguments = {
        'total': total,
        'unit': unit,
        'desc': label,
        'initial': initial,
    }

  def __enter__(self) -> 'Progress':
    line = _TerminalLine if sys.stderr.isatty() else _PlainLine
    self._line = line(disable=_is_off.get(), **self._arguments)
    return self

  def __exit__(self, error_type, error, traceback) -> None:
    self._line.end()

  def update(
      self, done: int, seconds_left: float | None = None, **fields
  ) -> None:
    """Sets the work done so far, and values to show; cheap to call often.

    Args:
      done: the work done, including that of an earlier run.
      seconds_left: until the end, NaN if nobody knows yet; default: at the
        rate so far.
      **fields: to show, by name.
    """
    self._line.show(done, seconds_left, fields)

  def expect(self, total: int) -> None:
    """Changes the amount of work, if it is known only on the way."""
    self._line.total = total


def foretell(
    count: int, what: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[int]:
  """Counts as `range` does; says early on if it is going to take long.

  Args:
    count: how far to count.
    what: is counted, in the plural.
    clock: returns seconds.
  """
  start, is_open = clock(), not _is_off.get()
  for done in range(count):
    elapsed = clock() - start
    if is_open and elapsed >= _LOOK_SECONDS and done:
      is_open = False
      left = elapsed / done * (count - done)
      if left >= _LONG_SECONDS:
        text = f'{count:,} {what}: about {_duration(left)} more'
        print(text, file=sys.stderr, flush=True)
    yield done


def foretell_draws(count: int) -> Iterator[int]:
  """Counts the draws of a bootstrap."""
  return foretell(count, 'draws of the bootstrap (bootstrap_draws)')


def foretell_envs(count: int) -> Iterator[int]:
  """Counts environments that are made."""
  return foretell(count, 'environments to make (num_envs)')


class _Line(tqdm.tqdm):
  """tqdm's line with our words."""

  monitor_interval = 0  # No thread: each update looks at the clock.
  _seconds_left = None
  _values = {}
  _is_over = False

  def __init__(self, **arguments):
    # The rate is the mean over all the time; smoothing would forget.
    super().__init__(file=sys.stderr, smoothing=0, miniters=0, **arguments)

  def show(self, done: int, seconds_left: float | None, values: dict):
    self._seconds_left, self._values = seconds_left, values
    self._try(lambda: self.update(done - self.n))

  def end(self):
    self._is_over = True
    self._try(self.close)

  def _try(self, draw: Callable[[], object]):
    try:
      draw()
    except OSError:
      self.disable = True  # Nobody looks any more; the work goes on.

  @property
  def format_dict(self) -> dict:
    """What the formats name, on top of tqdm's own."""
    found = super().format_dict
    done, total, elapsed = self.n, self.total, found['elapsed']
    rate = (done - self.initial) / elapsed if elapsed > 0 else 0.0
    left = self._seconds_left
    if left is None:
      left = (total - done) / rate if rate else math.nan
    share = min(done / total, 1.0) if total else 1.0
    values = (f' {name} {_text(x)}' for name, x in self._values.items())
    return found | {
        'prefix': f'{self.desc} '.lstrip(),
        'share': f'{share:4.0%}',
        'count': f'{done:,}/{total:,} {self.unit}',
        'speed': f'{rate:,.0f}/s' if rate >= 100 else f'{rate:.3g}/s',
        'left': '' if self._is_over else f' ETA {_duration(left)}',
        'values': ''.join(values),
    }


class _TerminalLine(_Line):
  """One line that is drawn again and again."""

  def __init__(self, **arguments):
    super().__init__(
        bar_format=_TERMINAL,
        ncols=80,
        nrows=24,
        mininterval=_TERMINAL_SECONDS,
        **arguments,
    )

  def __str__(self) -> str:
    try:
      # As wide as now; a terminal that does not know its size says 0.
      columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
      columns = 80
    fields = self.format_dict | {'ncols': columns}
    plain = self.format_meter(**{**fields, 'bar_format': _PLAIN})
    if len(plain) > columns - _LEAST_BAR:
      return plain  # The numbers matter more than a bar.
    return self.format_meter(**fields)


class _PlainLine(_Line):
  """A new line each time, none at the start."""

  def __init__(self, **arguments):
    super().__init__(
        bar_format=_PLAIN,
        mininterval=_PLAIN_SECONDS,
        delay=_PLAIN_SECONDS,
        **arguments,
    )

  def display(self, msg: str | None = None, pos: int | None = None):
    del pos
    if msg is None:  # Else tqdm wants to erase what it wrote.
      print(self, file=self.fp, flush=True)

  def close(self):
    if not self.disable:
      self.display()
    self.leave = False  # tqdm would leave a line without an end.
    super().close()


def _duration(seconds: float) -> str:
  return '?' if math.isnan(seconds) else tqdm.tqdm.format_interval(seconds)


def _text(value) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, int):
    return f'{value:,}'
  return f'{float(value):.4g}'
