"""Speed of several collectors that fill one server, each a process."""

import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from typing import NamedTuple

from srdice_tf import collection
from srdice_tf.benchmarks import data_costs
from srdice_tf.benchmarks import measure
from srdice_tf.replay import servers

_SERVER = """
import sys
from srdice_tf.replay import servers
server = servers.ReplayServer()
print(server.port, flush=True)
sys.stdin.read()
"""
_COLLECTOR = """
import sys
from srdice_tf.benchmarks import collector_costs
_, address, env_id, *numbers = sys.argv
collector_costs.collect_when_told(address, env_id, *map(int, numbers))
"""


def collect_when_told(
    address: str, env_id: str, num_transitions: int, number: int
):
  """Makes all that a collector needs, says so, and begins when it is told."""
  work = data_costs.Collection(env_id, num_transitions)
  config = dataclasses.replace(work.config, collector=number)
  server = servers.RemoteServer(address, timeout=60.0)
  print('ready', flush=True)
  sys.stdin.readline()
  begin = time.process_time()
  collection.collect(config, work.policy, server)
  print(time.process_time() - begin, flush=True)


def _start(stack: contextlib.ExitStack, *arguments) -> subprocess.Popen:
  """Starts a process that ends when the stack is closed."""
  process = stack.enter_context(
      subprocess.Popen(
          [sys.executable, '-c', *map(str, arguments)],
          stdin=subprocess.PIPE,
          stdout=subprocess.PIPE,
          stderr=subprocess.DEVNULL,
          text=True,
      )
  )
  stack.callback(process.stdin.close)
  return process


class _Outcome(NamedTuple):
  """What collectors did together.

  Attributes:
    rate: transitions per second.
    own_cost: CPU time of collectors, in microseconds a transition.
    server_cost: CPU time of the server, in the same unit.
  """

  rate: float
  own_cost: float
  server_cost: float


def _fill(env_id: str, num_transitions: int, num_collectors: int) -> _Outcome:
  """Lets collectors fill a server, all from the same moment on."""
  with contextlib.ExitStack() as stack:
    server = _start(stack, _SERVER)
    address = f'localhost:{int(server.stdout.readline())}'
    collectors = [
        _start(stack, _COLLECTOR, address, env_id, num_transitions, number)
        for number in range(num_collectors)
    ]
    for each in collectors:
      each.stdout.readline()
    begin, server_begin = time.perf_counter(), _cpu_seconds(server.pid)
    for each in collectors:
      each.stdin.write('\n')
      each.stdin.flush()
    own_seconds = sum(float(each.stdout.readline()) for each in collectors)
    seconds = time.perf_counter() - begin
    server_seconds = _cpu_seconds(server.pid) - server_begin
  total = num_collectors * num_transitions
  return _Outcome(
      rate=total / seconds,
      own_cost=1e6 * own_seconds / total,
      server_cost=1e6 * server_seconds / total,
  )


def _cpu_seconds(pid: int) -> float:
  with open(f'/proc/{pid}/stat') as file:
    fields = file.read().rpartition(')')[2].split()
  return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')


def collectors(
    env_id: str, num_transitions: int, num_collectors: int = 4
) -> list[measure.Measurement]:
  """Compares several collectors of one server with one of them.

  Where other work takes the cores, the speeds say little, but the costs stay:
  speeds add up, up to the number of cores, if a transition costs the same.
  """
  one = _fill(env_id, num_transitions, 1)
  all_of_them = _fill(env_id, num_transitions, num_collectors)
  cores = len(os.sched_getaffinity(0))
  name = f'{num_collectors} collectors of {env_id} / 1'
  return [
      measure.reported(
          f'{name}: transitions per second',
          all_of_them.rate / one.rate,
          f'{all_of_them.rate:,.0f} and {one.rate:,.0f}; at most about'
          f' {min(cores, num_collectors)} on {cores} idle cores',
      ),
      measure.reported(
          f'{name}: CPU time of a transition',
          all_of_them.own_cost / one.own_cost,
          f'{all_of_them.own_cost:.0f} and {one.own_cost:.0f} us; the server'
          f' takes {all_of_them.server_cost:.1f} us',
      ),
  ]
