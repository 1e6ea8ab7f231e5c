"""A process that serves data to the one that started it.

`private_server` starts it with its own process id as the argument. It reads a
request, pickled, from its standard input, loads the data and answers, pickled,
on its standard output. It ends with its parent.
"""

import ctypes
import os
import pickle
import signal
import sys
import tempfile

import reverb
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.data import findings
from srdice_tf.data import opening
from srdice_tf.data.sources import served_rows
from srdice_tf.replay import network
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import servers

_PARENT_DIES = 1  # PR_SET_PDEATHSIG of prctl.


def main(parent: int):
  """Serves what it is asked for, until its parent ends."""
  answers = os.dup(1)
  os.dup2(2, 1)
  ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)
  # Whoever ends a whole job means the parent, which saves first.
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  try:
    kept, answer = _serve(**pickle.load(sys.stdin.buffer))
  except errors.UserError as error:
    kept, answer = None, {'error': str(error)}
  with os.fdopen(answers, 'wb') as file:
    pickle.dump(answer, file)
  if kept is not None and os.getppid() == parent:
    sys.stdin.buffer.read()  # Until the parent closes it.
  os._exit(0)


def _serve(checkpoint='', rows=None, **request):
  """Returns what must be kept alive, and the answer.

  Args:
    checkpoint: directory of a Reverb checkpoint; or
    rows: arrays of `Dataset.from_rows`; or
    **request: which logged data, see `_serve_data`.
  """
  if checkpoint:
    return _serve_checkpoint(checkpoint)
  if rows is not None:
    return _serve_dataset(datasets.Dataset.from_rows(**rows))
  return _serve_data(**request)


def _serve_checkpoint(checkpoint: str):
  scratch = tempfile.mkdtemp(prefix='srdice_replay_')
  server = network.start_server(
      reverb_tables.make_tables(capacity=1),  # The checkpoint has its own.
      checkpointer=reverb.platform.checkpointers_lib.DefaultCheckpointer(
          scratch, fallback_checkpoint_path=checkpoint
      ),
  )
  os.rmdir(scratch)
  return server, {'port': server.port}


def _serve_data(name, columns, timeout, accept, time_limit):
  """Reads logged data of any kind, checks them, and serves their rows."""
  logged = opening.open_data(name, columns, timeout)
  notes = findings.check_logged(logged, f'data={name}', time_limit, accept)
  server, answer = _serve_dataset(logged.dataset)
  answer['logged'] = {
      'observation_spec': logged.observation_spec,
      'action_spec': logged.action_spec,
      'bounds_known': logged.bounds_known,
      'notes': (*logged.notes, *notes),
      'env_id': logged.env_id,
  }
  return server, answer


def _serve_dataset(dataset: datasets.Dataset):
  server = servers.ReplayServer(capacity=dataset.num_transitions)
  specs = served_rows.insert(dataset, server.client)
  return server, {
      'port': server.port,
      'codec': (*specs, dataset.observations.frame_stack),
  }


if __name__ == '__main__':
  tf.config.set_visible_devices([], 'GPU')
  main(int(sys.argv[1]))
