"""Ctrl-C and SIGTERM at a moment that loses nothing."""

import signal
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Deferred:
  """Within the context an interrupt only sets `received`.

  The work then stops between two steps, saves, and calls `reraise`.
  """

  def __init__(self):
    self.received = None
    self._handlers = {}

  def __enter__(self) -> 'Deferred':
    # Python allows handlers in the main thread only.
    if threading.current_thread() is threading.main_thread():
      for number in _SIGNALS:
        self._handlers[number] = signal.signal(number, self._receive)
    return self

  def __exit__(self, *unused_error):
    for number, handler in self._handlers.items():
      signal.signal(number, handler)

  def _receive(self, number, unused_frame):
    self.received = number

  def reraise(self):
    """Does what the signal would have done, once the work is saved."""
    if self.received is not None:
      signal.raise_signal(self.received)
