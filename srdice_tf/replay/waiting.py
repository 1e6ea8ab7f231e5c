"""Calls that may never return, such as Reverb's if the server has died."""

from collections.abc import Callable
import queue
import threading


def within(
    seconds: float,
    call: Callable,
    *args,
    is_alive: Callable[[], object] | None = None,
):
  """Returns the result of a call, or stops waiting for it.

  The call runs in its own thread, so that Ctrl-C ends the wait at once. A call
  that never returns stays in its thread, which does not keep the process alive.

  Args:
    seconds: to wait.
    call: to make; must release Python's lock while it waits.
    *args: of the call.
    is_alive: asked after each `seconds`, for calls that may take long: the wait
      goes on unless it raises an error.

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
