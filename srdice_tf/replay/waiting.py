"""Calls that may never return, as Reverb's do where the server has died."""

from collections.abc import Callable
import queue
import threading


def within(
    seconds: float,
    call: Callable,
    *args,
    is_alive: Callable[[], object] | None = None,
):
  """Returns what a call returns, or stops waiting for it.

  The call runs in a thread of its own, so that Ctrl-C ends the wait at once.
  A call that was given up stays behind in its thread, which does not keep the
  process from ending.

  Args:
    seconds: to wait.
    call: to make; must release Python's lock while it waits.
    *args: of the call.
    is_alive: raises an error if there is nothing to wait for; while it
      returns, the wait goes on, for a call that may take long.

  Raises:
    TimeoutError: if there was no answer in time.
  """
  answers = queue.SimpleQueue()

  def run():
    try:
      answers.put((call(*args), None))
    except Exception as error:
      answers.put((None, error))

  threading.Thread(target=run, daemon=True).start()
  while True:
    try:
      answer, error = answers.get(timeout=seconds)
      break
    except queue.Empty:
      if is_alive is None:
        raise TimeoutError(f'no answer in {seconds:g} s') from None
      is_alive()
  if error is not None:
    raise error
  return answer
