"""Stops on Ctrl-C and SIGTERM without losing work."""

import signal
import threading
import time

from srdice_tf.logging import signals

# About how long a call that cannot be interrupted takes.
_CALL_SECONDS = 2.0


class Deferred:
  """In the context an interrupt only sets `received`; a second one ends it.

  The work then stops between two steps, saves, and calls `reraise`. Signals
  that the process ignores, as under nohup, stay ignored.
  """

  def __init__(self, seconds: float | None = None):
    """Prepares the answer to an interrupt.

    Args:
      seconds: how long the work in the context takes, if it is one call.
    """
    self.received = None
    self._seconds = seconds
    self._handlers = {}

  def __enter__(self) -> 'Deferred':
    self._begun = time.monotonic()
    self._answer, signals.answer = signals.answer, self._say
    # Python allows handlers in the main thread only.
    if threading.current_thread() is threading.main_thread():
      for number in signals.SIGNALS:
        if not signals.is_ignored(number):
          self._handlers[number] = signal.signal(number, self._receive)
    return self

  def __exit__(self, *unused_error):
    signals.answer = self._answer
    for number, handler in self._handlers.items():
      signal.signal(number, handler)

  def _receive(self, number, unused_frame):
    if self.received is not None:
      raise KeyboardInterrupt
    self.received = number
    if not signals.is_watching():
      signals.say(self._say())

  def _say(self) -> str:
    if self._seconds is None:
      return f'stopping, what is done is kept; {signals.AGAIN}'
    left = self._begun + self._seconds - time.monotonic()
    return (
        f'stopping after this call, about {max(1, round(left))} s;'
        f' {signals.AGAIN}'
    )

  def reraise(self):
    """Does what the signal would have done, once the work is saved."""
    if self.received is None:
      return
    handler = signal.getsignal(self.received)
    if callable(handler):
      handler(self.received, None)
    elif handler == signal.SIG_DFL:
      signal.raise_signal(self.received)
    raise KeyboardInterrupt  # Other handlers must not let the work go on.


class Pace:
  """Cuts work into calls of about two seconds, so that it can stop soon."""

  def __init__(self):
    self._step_seconds = None  # As the last call took.

  def size(self, most: int) -> int:
    """Returns the number of steps of the next call; that of the first is 1."""
    if self._step_seconds is None:
      return min(1, most)
    if self._step_seconds * most <= _CALL_SECONDS:
      return most
    return max(1, int(_CALL_SECONDS / self._step_seconds))

  def seconds(self, size: int) -> float | None:
    """Returns how long a call will take; None before the first one."""
    return self._step_seconds and size * self._step_seconds

  def note(self, size: int, seconds: float):
    """Notes how long a call took."""
    self._step_seconds = seconds / size
