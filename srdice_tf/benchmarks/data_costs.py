"""Speed of stepping, collecting and reading; memory of stored frames."""

from collections.abc import Callable
import functools
import os
import subprocess
import sys
import tempfile
import time

import gymnasium
import numpy as np
from tf_agents.environments import batched_py_environment
from tf_agents.environments import parallel_py_environment
from tf_agents.system import system_multiprocessing

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.benchmarks import measure
from srdice_tf.data.sources import reverb_server
from srdice_tf.environments import atari
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import directories
from srdice_tf.replay import servers

_FRAME_BYTES = 84 * 84


def _bare_loop(env_id: str, num_steps: int) -> int:
  """A plain gymnasium loop without any policy."""
  if env_id.startswith('ALE/'):
    env = atari.make(env_id)
  else:
    env = gymnasium.make(env_id)
  env.reset(seed=0)
  for _ in range(num_steps):
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    if terminated or truncated:
      env.reset()
  env.close()
  return num_steps


class Collection:
  """Collects into a fresh directory each time it is called.

  Attributes:
    config: what is collected.
    policy: the behaviour policy.
    collect_seconds: of each call.
    read_seconds: of each call.
  """

  def __init__(self, env_id: str, num_transitions: int):
    env = environments.load(env_id)
    specs = env.observation_spec(), env.action_spec()
    policy = loading.load('untrained', env_id, *specs)
    name = settings.default_setting(env.action_spec())
    setting = settings.setting(name, env.action_spec())
    self._env = env
    self.policy = settings.behaviour_policy(policy, setting)
    self.config = collection.CollectConfig(
        env_id=env_id,
        policy='untrained',
        policy_checksum=loading.checksum(policy),
        setting=name,
        num_transitions=num_transitions,
        num_envs=collection.default_num_envs(env_id, 50_000),
    )
    self.read_seconds = []
    self.collect_seconds = []

  def __call__(self) -> int:
    with tempfile.TemporaryDirectory() as path:
      directory = directories.DatasetDirectory(path)
      server = servers.ReplayServer(directory)
      start = time.perf_counter()
      collection.collect(self.config, self.policy, server)
      collected = time.perf_counter()
      reverb_server.load(server.client, collection.codec_of(self._env))
      self.read_seconds.append(time.perf_counter() - collected)
      self.collect_seconds.append(collected - start)
      server.stop()
    return self.config.num_transitions


def collecting(
    env_id: str, num_transitions: int, goal: float | None, rounds: int = 3
) -> list[measure.Measurement]:
  """Compares collecting, all included, with a bare gymnasium loop."""
  collect = Collection(env_id, num_transitions)
  bare = functools.partial(_bare_loop, env_id, num_transitions)
  bare_rates, rates, shares = [], [], []
  for _ in range(rounds):
    bare_rates.append(measure.rate(bare))
    collect()
    rates.append(num_transitions / collect.collect_seconds[-1])
    shares.append(collect.read_seconds[-1] / collect.collect_seconds[-1])
  bare_rate, rate = np.median(bare_rates), np.median(rates)
  detail = f'{rate:,.0f} transitions/s, bare gymnasium {bare_rate:,.0f} steps/s'
  name = f'collect {env_id} / bare loop'
  ratio = rate / bare_rate
  results = [
      measure.reported(name, ratio, detail)
      if goal is None
      else measure.at_least(name, ratio, goal, detail)
  ]
  if goal is not None:
    results.append(
        measure.at_most(
            f'read {num_transitions:,} transitions / collect them',
            float(np.median(shares)),
            0.05,
            f'{np.median(collect.read_seconds):.2f} s of'
            f' {np.median(collect.collect_seconds):.1f} s',
        )
    )
  return results


def batching(env_id: str, num_envs: int, num_steps: int):
  """Compares ways to step a batch of environments."""
  load = functools.partial(environments.load, env_id)
  constructors = [functools.partial(load, i) for i in range(num_envs)]
  action_shape = (num_envs, *load().action_spec().shape)
  action = np.zeros(action_shape, np.float32)

  def steps(env) -> Callable[[], int]:
    def work():
      env.reset()
      for _ in range(num_steps):
        env.step(action)
      return num_steps * num_envs

    return work

  envs = {
      'BatchedEnvironment (ours)': environments.load_batch(env_id, num_envs),
      'BatchedPyEnvironment': batched_py_environment.BatchedPyEnvironment(
          [make() for make in constructors], multithreading=False
      ),
      'BatchedPyEnvironment, threads': (
          batched_py_environment.BatchedPyEnvironment(
              [make() for make in constructors]
          )
      ),
      'ParallelPyEnvironment': _parallel(constructors),
      'gymnasium SyncVectorEnv': gymnasium.make_vec(
          env_id, num_envs, vectorization_mode='sync'
      ),
      'gymnasium AsyncVectorEnv': gymnasium.make_vec(
          env_id, num_envs, vectorization_mode='async'
      ),
  }
  works = {name: steps(env) for name, env in envs.items()}
  rates = measure.alternate(works, rounds=3)
  for env in envs.values():
    env.close()
  ours, *others = rates
  return [
      measure.reported(
          f'{ours} / {name}',
          rates[ours] / rates[name],
          f'{rates[ours]:,.0f} and {rates[name]:,.0f} steps/s, {num_envs}'
          f' environments of {env_id}',
      )
      for name in others
  ]


def _parallel(constructors):
  # Its processes must not inherit the threads of TensorFlow.
  system_multiprocessing.enable_interactive_mode()
  return parallel_py_environment.ParallelPyEnvironment(
      constructors, start_serially=False
  )


_MEMORY_SCRIPT = """
import sys
from srdice_tf.benchmarks import data_costs
data_costs.print_memory_growth(sys.argv[1], int(sys.argv[2]))
"""


def _resident_bytes() -> int:
  with open('/proc/self/statm') as file:
    return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def print_memory_growth(env_id: str, num_transitions: int):
  """Prints the resident bytes that `num_transitions` stored ones need."""
  warm_up = Collection(env_id, 500)
  warm_up()
  collect = Collection(env_id, num_transitions)
  server = servers.ReplayServer(capacity=num_transitions)
  before = _resident_bytes()
  collection.collect(collect.config, collect.policy, server)
  print(_resident_bytes() - before)


def frame_memory(
    env_id: str, num_transitions: int
) -> list[measure.Measurement]:
  """Measures the memory of stored transitions, in a process of its own."""
  output = subprocess.run(
      [sys.executable, '-c', _MEMORY_SCRIPT, env_id, str(num_transitions)],
      check=True,
      stdout=subprocess.PIPE,
      text=True,
  ).stdout
  each = int(output.split()[-1]) / num_transitions
  return [
      measure.at_most(
          f'memory of a stored {env_id} transition / 84*84 bytes',
          each / _FRAME_BYTES,
          1.2,
          f'{each:,.0f} bytes each, {num_transitions:,} stored',
      )
  ]
