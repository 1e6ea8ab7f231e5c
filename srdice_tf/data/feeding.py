"""A thread that reads ahead, and a queue that compiled loops take from."""

import atexit
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading

import tensorflow as tf

_CAPACITY = 8  # Elements that wait.


class Feeder:
  """Puts what an endless iterator gives into a queue of TensorFlow.

  If the iterator fails, so does whoever waits for the queue: `explain` tells
  why.
  """

  def __init__(self, make: Callable[[], Iterator[list]], dtypes, shapes):
    """Starts the thread.

    Args:
      make: returns the iterator over lists of arrays.
      dtypes: of the arrays.
      shapes: of the arrays.
    """
    self._queue = tf.queue.FIFOQueue(_CAPACITY, dtypes, shapes)
    self._make = make
    self._is_over = False
    self._error = None
    self._thread = threading.Thread(target=self._feed, daemon=True)
    self._thread.start()
    atexit.register(self.stop)

  def _feed(self):
    try:
      for element in self._make():
        self._queue.enqueue(element)
        if self._is_over:
          return
    except Exception as error:  # For the thread that waits.
      self._error = None if self._is_over else error
    finally:
      self._queue.close(cancel_pending_enqueues=True)

  def take(self) -> list[tf.Tensor]:
    """Returns the next element, in a compiled function or outside."""
    return self._queue.dequeue()

  def explain(self, error: tf.errors.OpError):
    """Raises what stopped the thread, if an error followed from that."""
    if self._error is not None:
      raise self._error from error

  def stop(self):
    """Ends the thread."""
    self._is_over = True
    with contextlib.suppress(tf.errors.OpError):
      self._queue.close(cancel_pending_enqueues=True)
    atexit.unregister(self.stop)
    self._thread.join(5.0)
