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

_TERMINAL_SECONDS, _PLAIN_SECONDS = 0.1, 10.0
# After so long the rest is estimated, and announced if it is long.
_LOOK_SECONDS, _LONG_SECONDS = 2.0, 60.0
_FORMAT = (
    '{desc}{percentage:3.0f}% {n_fmt}/{total_fmt} {unit} {rate_fmt} {elapsed}'
    ' ETA {remaining}{fields}'
)

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
        'desc': f'{label} '.lstrip(),
        'initial': initial,
    }

  def __enter__(self) -> 'Progress':
    line = _TerminalLine if sys.stderr.isatty() else _PlainLine
    self._line = line(file=sys.stderr, disable=_is_off.get(), **self._arguments)
    return self

  def __exit__(self, error_type, error, traceback) -> None:
    self._draw(self._line.close)

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
    self._line.seconds_left, self._line.fields = seconds_left, fields
    self._draw(lambda: self._line.update(done - self._line.n))

  def say(self, text: str) -> None:
    """Writes a line; on a terminal above the progress line."""
    if not _is_off.get():
      self._draw(lambda: self._line.write(text, file=sys.stderr))

  def expect(self, total: int) -> None:
    """Changes the amount of work, if it is known only on the way."""
    self._line.total = total

  def _draw(self, draw: Callable[[], object]):
    try:
      draw()
    except OSError:
      self._line.disable = True  # Nobody looks any more; the work goes on.


def say(text: str):
  """Writes a line to the terminal, unless that is off."""
  if not _is_off.get():
    print(text, file=sys.stderr, flush=True)


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
        duration = tqdm.tqdm.format_interval(left)
        text = f'{count:,} {what}: about {duration} more'
        print(text, file=sys.stderr, flush=True)
    yield done


def foretell_draws(count: int) -> Iterator[int]:
  """Counts the draws of a bootstrap."""
  return foretell(count, 'draws of the bootstrap (bootstrap_draws)')


def foretell_envs(count: int) -> Iterator[int]:
  """Counts environments that are made."""
  return foretell(count, 'environments to make (num_envs)')


class _TerminalLine(tqdm.tqdm):
  """One line that tqdm draws again and again."""

  monitor_interval = 0  # No thread: each update looks at the clock.
  seconds_left = None
  fields = {}

  def __init__(self, **arguments):
    settings = {
        'bar_format': _FORMAT.replace('% ', '% |{bar}| '),
        'mininterval': _TERMINAL_SECONDS,
        'ncols': _columns(),
        'nrows': 24,
        'miniters': 0,
        'smoothing': 0,  # The rate is the mean over all the time.
    }
    super().__init__(**{**settings, **arguments})

  @property
  def format_dict(self) -> dict:
    """What tqdm's format names, in our words."""
    found = super().format_dict
    done, elapsed = self.n - self.initial, found['elapsed']
    rate = done / elapsed if elapsed else 0.0
    left = self.seconds_left
    if left is None:
      left = max(self.total - self.n, 0) / rate if rate else math.nan
    values = (f' {name} {_text(x)}' for name, x in self.fields.items())
    return found | {
        # More may be done than was expected, or nothing to do.
        'n': min(self.n, self.total) if self.total else 1,
        'total': self.total or 1,
        'n_fmt': f'{self.n:,}',
        'total_fmt': f'{self.total:,}',
        'rate_fmt': f'{rate:,.0f}/s' if rate >= 100 else f'{rate:.3g}/s',
        'remaining': '?' if math.isnan(left) else self.format_interval(left),
        'fields': ''.join(values),
    }


class _PlainLine(_TerminalLine):
  """A new line each time, none at the start."""

  _shown = None  # The work of the last line.

  def __init__(self, **arguments):
    super().__init__(
        bar_format=_FORMAT,
        mininterval=_PLAIN_SECONDS,
        delay=_PLAIN_SECONDS,
        ncols=None,
        **arguments,
    )

  def display(self, msg: str | None = None, pos: int | None = None):
    del pos
    if msg is None:  # Else tqdm wants to erase what it wrote.
      print(self, file=self.fp, flush=True)
      self._shown = self.n

  def close(self):
    if not self.disable and self._shown != self.n:
      self.display()
    self.leave = False  # tqdm would leave a line without an end.
    super().close()


def _columns() -> int:
  try:
    # A terminal that does not know its size says 0.
    return os.get_terminal_size(sys.stderr.fileno()).columns or 80
  except OSError:
    return 80


def _text(value) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, int):
    return f'{value:,}'
  return f'{float(value):.4g}'
