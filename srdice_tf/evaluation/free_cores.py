"""How many processes are worth it for a batch of roll-outs."""

import os
import time

# Steps of a batch, of all of its episodes, that are worth further processes.
# These cost 0.3 s to start; the fastest environments take 10,000 steps in 1 s.
_LEAST_STEPS = 20_000
_LOOK_SECONDS = 0.2  # 20 ticks of the system's counters for each core.
_IDLE = 'idle', 'iowait'
_COUNTERS = 'user', 'nice', 'system', *_IDLE, 'irq', 'softirq', 'steal'


def num_processes(num_episodes: int, num_steps: int) -> int:
  """Returns how many processes step a batch: one a core that is free.

  Args:
    num_episodes: of the batch.
    num_steps: of each episode, at most.
  """
  if num_episodes * num_steps < _LEAST_STEPS:
    return 1
  cores = len(os.sched_getaffinity(0))
  # Who was told to use one thread, as each worker of a sweep, has one core.
  threads = os.environ.get('OMP_NUM_THREADS', '')
  if threads.isdecimal():
    cores = min(cores, int(threads))
  if cores > 1:
    # All wait for the slowest: beside other work, more processes lose.
    cores = min(cores, os.cpu_count() - _num_busy())
  return max(1, min(cores, num_episodes))


def _num_busy() -> int:
  """Returns how many cores work for others while this process waits.

  Who has been niced gives way, unless this process has been, too.
  """
  before = _ticks()
  time.sleep(_LOOK_SECONDS)
  ticks = {name: now - before[name] for name, now in _ticks().items()}
  free = _IDLE if os.nice(0) > 0 else (*_IDLE, 'nice')
  busy = sum(count for name, count in ticks.items() if name not in free)
  return round(os.cpu_count() * busy / max(1, sum(ticks.values())))


def _ticks() -> dict[str, int]:
  """Returns what all cores have spent their time on, since the start."""
  with open('/proc/stat') as file:
    _, *counts = file.readline().split()
  return dict(zip(_COUNTERS, map(int, counts)))
