"""A progress line with rate and remaining time."""

from collections.abc import Callable
from collections.abc import Iterator
import math
import os
import time
from typing import TextIO

from srdice_tf.logging import quiet

_TERMINAL_SECONDS = 0.1
_PLAIN_SECONDS = 10.0
# After so long the rest is estimated, and foretold if it is long.
_LOOK_SECONDS, _LONG_SECONDS = 2.0, 60.0
_MIN_BAR_WIDTH, _MAX_BAR_WIDTH = 5, 20


class Progress:
  """Shows how far work is, on one line that is drawn anew on a terminal.

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
      stream: TextIO | None = None,
      clock: Callable[[], float] = time.monotonic,
  ):
    """Makes a line that appears on entering the context.

    Args:
      total: the amount of work, in `unit`s.
      unit: of the work, in the plural.
      label: what is being done.
      initial: work that an earlier run did; rate and remaining time count
        only what is new.
      stream: to write to; default: the process's own stderr.
      clock: returns seconds.
    """
    self._total = total
    self._unit = unit
    self._label = label
    self._initial = initial
    self._stream = stream
    self._clock = clock
    self._done = initial
    self._seconds_left = None
    self._fields = {}

  def __enter__(self) -> 'Progress':
    self._stream = self._stream or quiet.terminal()
    self._is_terminal = self._stream.isatty()
    self._interval = _TERMINAL_SECONDS if self._is_terminal else _PLAIN_SECONDS
    self._start = self._clock()
    self._next = self._start + self._interval
    if self._is_terminal:
      self._draw()
    return self

  def __exit__(self, error_type, error, traceback) -> None:
    self._draw(ended=True)

  def update(
      self, done: int, seconds_left: float | None = None, **fields
  ) -> None:
    """Sets the work done so far, and values to show; cheap to call often.

    Args:
      done: the work done, that of an earlier run included.
      seconds_left: of all the rest, NaN if nothing tells yet; default: at the
        rate so far.
      **fields: to show, by name.
    """
    self._done = done
    self._seconds_left = seconds_left
    self._fields = fields
    now = self._clock()
    if now >= self._next:
      self._next = now + self._interval
      self._draw()

  def expect(self, total: int) -> None:
    """Sets the amount of work anew, where it shows on the way."""
    self._total = total

  def _draw(self, ended: bool = False) -> None:
    try:
      if self._is_terminal:
        width = _columns(self._stream) - 1
        line = f'\r{self._line(ended, width)[:width]}\x1b[K'
        self._stream.write(line + '\n' if ended else line)
      else:
        self._stream.write(self._line(ended) + '\n')
      self._stream.flush()
    except OSError:
      self._next = float('inf')  # Nobody looks any more; the work goes on.

  def _line(self, ended: bool, width: int = 0) -> str:
    """Returns the line, with a bar in what the rest leaves of the width."""
    elapsed = self._clock() - self._start
    rate = (self._done - self._initial) / elapsed if elapsed > 0 else 0.0
    fraction = min(self._done / self._total, 1.0) if self._total else 1.0
    parts = [
        f'{self._done:,}/{self._total:,} {self._unit}',
        f'{_number(rate)}/s',
        _duration(elapsed),
    ]
    if not ended:
      left = self._seconds_left
      if left is None and rate > 0:
        left = (self._total - self._done) / rate
      parts.append(f'ETA {_duration(left)}')
    parts += [f'{name} {_value(value)}' for name, value in self._fields.items()]
    head = f'{self._label} {fraction:4.0%}'.lstrip()
    tail = ' '.join(parts)
    return f'{head} {_bar(fraction, width - len(head + tail) - 2)}{tail}'


def foretell(
    count: int,
    what: str,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[int]:
  """Counts as `range` does; says early on if it is going to take long.

  Args:
    count: how far to count.
    what: is counted, in the plural, with the flag that sets its number.
    stream: to write to; default: the process's own stderr.
    clock: returns seconds.
  """
  start, is_open = clock(), True
  for done in range(count):
    elapsed = clock() - start
    if is_open and elapsed >= _LOOK_SECONDS and done:
      is_open = False
      left = elapsed / done * (count - done)
      if left >= _LONG_SECONDS:
        stream = stream or quiet.terminal()
        stream.write(f'{count:,} {what}: about {_duration(left)} more\n')
        stream.flush()
    yield done


def foretell_draws(count: int) -> Iterator[int]:
  """Counts the draws of a bootstrap."""
  return foretell(count, 'draws of the bootstrap (--bootstrap_draws)')


def foretell_envs(count: int) -> Iterator[int]:
  """Counts environments that are made."""
  return foretell(count, 'environments to make')


def _bar(fraction: float, width: int) -> str:
  """Returns a bar and a space within the width; nothing if it is too small."""
  width = min(width - 2, _MAX_BAR_WIDTH)  # Without its brackets.
  if width < _MIN_BAR_WIDTH:
    return ''
  filled = int(fraction * width)
  return '[' + '#' * filled + '.' * (width - filled) + '] '


def _columns(stream: TextIO) -> int:
  try:
    # A terminal that does not know its size says 0.
    return os.get_terminal_size(stream.fileno()).columns or 80
  except (OSError, ValueError, AttributeError):
    return 80


def _duration(seconds: float | None) -> str:
  """Returns hours, minutes and seconds as '1:02:03' or '2:03'."""
  if seconds is None or math.isnan(seconds):
    return '-:--'
  minutes, seconds = divmod(int(max(seconds, 0) + 0.5), 60)
  hours, minutes = divmod(minutes, 60)
  if hours:
    return f'{hours}:{minutes:02}:{seconds:02}'
  return f'{minutes}:{seconds:02}'


def _number(value: float) -> str:
  return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'


def _value(value) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, int):
    return f'{value:,}'
  return f'{float(value):.4g}'
