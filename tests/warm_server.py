"""Forks programs from a process that has done the imports they have in common.

    python -m tests.warm_server DESCRIPTOR

takes from connections to that socket what to run, and runs it in a fork of
itself: a process that begins where the libraries are there, and that ends as
any process ends. It serves until its stdin is closed. The programs themselves
import `binaries`. `warm_processes` is the other side.
"""

import gc
import importlib
import json
import os
import runpy
import select
import socket
import struct
import sys

_LIBRARIES = (
    'ale_py',
    'gymnasium',
    'jinja2',
    'matplotlib.figure',
    'matplotlib.backends.backend_agg',
    'mujoco',
    'pandas',
    'reverb',
    'rich.table',
    'scipy.optimize',
    'scipy.stats',
    'srdice_tf.api',
    'tensorflow',
    'tensorboard.plugins.hparams.api',
    'tf_agents.agents',
    'tf_agents.environments',
    'tf_agents.networks',
    'tf_agents.policies',
)
# What goes to who asked: the number of the process, then how it ended.
NUMBER = struct.Struct('q')
_MAX_BYTES = 1 << 20


def _import_libraries():
  sys.modules['gym_notices'] = None  # As `quiet` has it.
  for name in _LIBRARIES:
    importlib.import_module(name)
  gc.freeze()  # A fork that looks for garbage in them would copy them.


def _serve(listener: socket.socket) -> dict:
  """Returns, in a new process each time, what that process is to run."""
  while True:
    if listener not in select.select([listener, sys.stdin], [], [])[0]:
      sys.exit()
    connection, _ = listener.accept()
    message, descriptors, *_ = socket.recv_fds(connection, _MAX_BYTES, 3)
    connection.close()
    if not os.fork():
      listener.close()
      _become_program(*descriptors)
      return json.loads(message)
    for descriptor in descriptors:
      os.close(descriptor)
    _bury()


def _bury():
  """Takes note of the children that have ended."""
  try:
    while os.waitpid(-1, os.WNOHANG)[0]:
      pass
  except ChildProcessError:
    pass


def _become_program(stdout: int, stderr: int, status: int):
  """Returns in a child of this process; the process itself waits for it."""
  if pid := os.fork():
    os.close(stdout)
    os.close(stderr)
    os.write(status, NUMBER.pack(pid))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(status, NUMBER.pack(code))
    os._exit(0)
  os.close(status)
  stdin = os.open(os.devnull, os.O_RDONLY)
  for descriptor, place in ((stdin, 0), (stdout, 1), (stderr, 2)):
    os.dup2(descriptor, place)
    os.close(descriptor)


def _run(program: str, arguments: list[str], directory: str, variables: dict):
  """Runs a file, or what follows `-c`, as Python does."""
  os.chdir(directory)
  os.environ.clear()
  os.environ.update(variables)
  paths = [p for p in variables.get('PYTHONPATH', '').split(':') if p]
  if program == '-c':
    code, *arguments = arguments
    place = ''
    run = lambda: exec(code, {'__name__': '__main__'})
  else:
    place = os.path.dirname(os.path.abspath(program))
    run = lambda: runpy.run_path(program, run_name='__main__')
  sys.argv = [program, *arguments]
  sys.path[:1] = [place, *paths]
  run()


if __name__ == '__main__':
  _import_libraries()
  _run(**_serve(socket.socket(fileno=int(sys.argv[1]))))
