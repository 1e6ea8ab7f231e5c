"""How many processes are worth it for a batch of roll-outs."""

from concurrent import futures
import hashlib
import os
import time

from srdice_tf import environments
from srdice_tf import errors

# What a batch must take to be worth further processes. They take 0.5 s to start
# and to end, and the policy is called in one.
_LEAST_SECONDS = 4.0
_LEAST_STEPS = 1_000  # Fewer are not worth a look.
_TRIAL_STEPS = 10
_LOOK_SECONDS = 0.2
_BUFFER = bytes(1 << 20)  # Hashing it takes a millisecond or two.
# All wait for the slowest: a core that others use, too, is not worth it. Small
# things run on any machine.
_SMALL_SHARE = 0.25


def num_processes(env_id: str, num_episodes: int, num_steps: int) -> int:
  """Returns how many processes step a batch: one a core that is free.

  Args:
    env_id: the environment.
    num_episodes: of the batch.
    num_steps: of each episode, at most.
  """
  cores = min(len(os.sched_getaffinity(0)), num_episodes)
  # Who was told to use one thread, as each worker of a sweep, has one core.
  threads = os.environ.get('OMP_NUM_THREADS', '')
  if threads.isdecimal():
    cores = min(cores, int(threads))
  steps = num_episodes * num_steps
  if cores <= 1 or steps < _LEAST_STEPS:
    return 1
  if steps * _step_seconds(env_id) < _LEAST_SECONDS:
    return 1
  return max(1, min(cores, int(_time_given(cores) + _SMALL_SHARE)))


def _step_seconds(env_id: str) -> float:
  """Returns about how long an environment takes for a step."""
  with environments.load(env_id) as env:
    begun = time.perf_counter()
    try:
      env.trial(_TRIAL_STEPS)
    except errors.UserError:  # Random actions can be too much for it.
      return 0.0
    return (time.perf_counter() - begun) / _TRIAL_STEPS


def _time_given(num_threads: int) -> float:
  """Returns the seconds of CPU time that threads get in a second.

  What is left of the machine cannot be told from its load: it depends on who is
  niced, on sessions, and on what a container may use.
  """
  with futures.ThreadPoolExecutor(num_threads) as pool:
    return sum(pool.map(_work, [_LOOK_SECONDS] * num_threads))


def _work(seconds: float) -> float:
  """Returns the share of the time in which this thread could work."""
  begun, cpu_begun = time.monotonic(), time.thread_time()
  while (taken := time.monotonic() - begun) < seconds:
    hashlib.sha512(_BUFFER)  # Python lets other threads run beside it.
  return (time.thread_time() - cpu_begun) / taken
