"""A process that runs some entries of a plan, one after the other.

`executors` starts it with its own process id as the argument. It reads the
entries, pickled, from its standard input and writes a line of JSON for each to
its standard output: what became of the run. All else that it and the libraries
say goes to its log.
"""

import ctypes
import json
import os
import pickle
import signal
import sys

from srdice_tf.experiments import jobs

_PARENT_DIES = 1  # PR_SET_PDEATHSIG of prctl.
_INTERRUPTED = 130


def main(parent: int):
  """Runs what it is given, until it is done or stopped."""
  answers = os.dup(1)
  os.dup2(2, 1)
  signal.signal(signal.SIGTERM, _interrupt)
  code = 0
  _be_as_nice_as_asked()
  try:
    # Whoever started it may be killed: the run is then saved, as on Ctrl-C.
    ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGTERM)
    if os.getppid() != parent:
      raise KeyboardInterrupt
    _run(pickle.load(sys.stdin.buffer), answers)
  except KeyboardInterrupt:
    code = _INTERRUPTED
  sys.stderr.flush()
  # To take down TensorFlow's and Reverb's threads would take seconds.
  os._exit(code)


def _be_as_nice_as_asked():
  """Lets the niceness count that it has from who started it.

  It has a session of its own, and Linux may share the time between sessions
  first (autogroup): beside other programs it would not be nice at all.
  """
  try:
    with open('/proc/self/autogroup', 'w') as file:
      file.write(str(os.nice(0)))
  except OSError:  # No autogroups here.
    pass


def _interrupt(number, frame):
  del number, frame
  raise KeyboardInterrupt


def _run(entries, answers: int):
  cache = {}
  for entry in entries:
    status, text = jobs.attempt(entry, cache)
    line = json.dumps({'status': status, 'text': text})
    os.write(answers, f'{line}\n'.encode())


if __name__ == '__main__':
  main(int(sys.argv[1]))
