"""Set-up of all tests."""

import gc
import os
import signal
import sys

import pytest

from tests import warm_processes

# A suite in the background of a shell ignores interrupts, and so would the
# processes that its tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
  signal.signal(signal.SIGINT, signal.default_int_handler)

# The files that take longest, and directories with more of them.
_LONGEST = (
    'campaign_test.py', 'run_ope_test.py', 'trainer_test.py',
    'executors_test.py', 'ray_executor_test.py', 'recorded_test.py',
    'training_test.py', 'readme_test.py', 'driver_test.py', 'packaging_test.py',
    'quiet_test.py', 'streamed_test.py', 'rollouts_test.py', 'saved_test.py',
)
_LONG = 'binaries', 'experiments', 'estimators', 'agents'
_ONE_THREAD = {'TF_NUM_INTRAOP_THREADS': '1', 'TF_NUM_INTEROP_THREADS': '1'}


def pytest_configure(config):
  """Leaves one thread to TensorFlow in each of several processes of tests.

  The operations of tests are small: threads cost more than they bring.
  """
  if hasattr(config, 'workerinput'):
    os.environ.update(_ONE_THREAD)
  elif config.getoption('numprocesses', None):
    warm_processes.start_server()
  config.addinivalue_line('markers', 'full: takes minutes; run by -m full')


def pytest_collection_modifyitems(config, items):
  """Begins with what is long, lest one core has nothing to do at the end.

  Leaves out what takes minutes, unless `-m full` asks.
  """
  skip = pytest.mark.skip(reason='takes minutes; run with -m full')
  if 'full' not in config.getoption('-m'):
    for item in items:
      if 'full' in item.keywords:
        item.add_marker(skip)
  items.sort(
      key=lambda item: (
          item.path.name not in _LONGEST, item.path.parent.name not in _LONG
      )
  )
  # Libraries and tests stay: only what is made from here on can be garbage.
  gc.collect()
  gc.freeze()
  gc.set_threshold(50_000)
  if tf := sys.modules.get('tensorflow'):
    tf.config.list_logical_devices()  # Has its threads from here on.
