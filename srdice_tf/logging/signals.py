"""Answers Ctrl-C and SIGTERM at once, whatever the main thread does.

Python runs signal handlers between two of its own instructions, so a compiled
call keeps them waiting. The interpreter also writes the number of each signal
into a pipe, at once; a thread reads it there and tells the user what happens.
"""

from collections.abc import Callable
import os
import signal
import sys
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 'once more ends it at once'
_INTERRUPTED = 'interrupted'
_STOPPING = f'stopping; {AGAIN}'

# The answer to the first signal; work that knows more sets its own.
answer: Callable[[], str] = lambda: _STOPPING
_is_importing = False
_is_watching = False


def install(at_first: Callable[[], None] = lambda: None):
  """Starts to answer; until `end_of_imports` a signal ends the process.

  Args:
    at_first: called once, when a signal has come.
  """
  global _is_importing, _is_watching
  if _is_watching or threading.current_thread() is not threading.main_thread():
    return
  _is_importing = _is_watching = True
  read, write = os.pipe()
  os.set_blocking(write, False)  # As the interpreter asks for.
  signal.set_wakeup_fd(write, warn_on_full_buffer=False)
  # A child that is forked has the same pipe: its signals are not ours.
  os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
  for number in SIGNALS:
    if not is_ignored(number):
      signal.signal(number, _leave_to_the_watcher)
  arguments = read, at_first
  threading.Thread(target=_watch, args=arguments, daemon=True).start()


def end_of_imports():
  """From here on a signal raises KeyboardInterrupt in the main thread."""
  global _is_importing
  if _is_importing and not is_ignored(signal.SIGINT):
    signal.signal(signal.SIGINT, signal.default_int_handler)
  _is_importing = False


def is_ignored(number: int) -> bool:
  """Whether the process was started so that it ignores a signal (nohup)."""
  return signal.getsignal(number) == signal.SIG_IGN


def is_watching() -> bool:
  """Whether signals are answered here, without any handler."""
  return _is_watching


def say(text: str):
  """Writes a line to the user, from any thread or handler."""
  try:
    descriptor = sys.stderr.fileno()
    # On a terminal it replaces the progress bar, which is drawn again.
    erase = '\r\x1b[K' if os.isatty(descriptor) else ''
    os.write(descriptor, f'{erase}{text}\n'.encode())
  except (OSError, ValueError, AttributeError):
    pass  # Nobody is there to read it.


def _leave_to_the_watcher(number, frame):
  del number, frame


def _watch(descriptor: int, at_first: Callable[[], None]):
  """Answers the first signal; ends the process at the second."""
  signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # For the main thread.
  num_received = 0
  while True:
    number = os.read(descriptor, 1)[0]
    if number not in SIGNALS:
      continue
    num_received += 1
    if num_received == 1:
      at_first()
    if _is_importing or num_received > 1:
      say(_INTERRUPTED)
      os._exit(128 + number)
    say(answer())
