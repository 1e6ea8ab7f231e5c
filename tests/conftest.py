"""Set-up of all tests."""

import signal

# A suite in the background of a shell ignores interrupts, and so would the
# processes that its tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
  signal.signal(signal.SIGINT, signal.default_int_handler)

# Directories with the files that take longest.
_LONG = 'binaries', 'experiments', 'estimators', 'agents'


def pytest_configure(config):
  """Leaves one thread to TensorFlow where processes share the cores.

  The operations of tests are small: threads cost more than they bring. The
  programs that tests start have all of theirs.
  """
  if not hasattr(config, 'workerinput'):  # Not one of several, or their head.
    return
  import tensorflow as tf

  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)


def pytest_collection_modifyitems(items):
  """Begins with what is long, lest one core has nothing to do at the end."""
  items.sort(key=lambda item: item.path.parent.name not in _LONG)
