"""Speed of roll-outs in one process and in several."""

import os
import time

from srdice_tf.benchmarks import measure
from srdice_tf.evaluation import rollouts
from srdice_tf.experiments import tasks

_GAMMA = 0.97  # 303 steps an episode.
_ROUNDS = 3


def processes(env_id: str, num_episodes: int) -> list[measure.Measurement]:
  """Roll-outs of the shipped policy in a process for each core, to one.

  The making of environments and the start of processes count.
  """
  policy, _ = tasks.policy_with_noise(tasks.TaskConfig(env_id, ''), 'target')
  config = rollouts.RollOutConfig(env_id, _GAMMA)
  num_cores = len(os.sched_getaffinity(0))
  cpu = {}  # Seconds of this process.

  def working(num_processes: int):
    def work() -> int:
      counted = rollouts.RollOuts(num_episodes, _GAMMA, config.num_steps)
      begun = time.process_time()
      for _ in rollouts.play(
          config, policy, num_episodes, counted, num_processes=num_processes
      ):
        pass
      cpu[num_processes] = time.process_time() - begun
      return int(counted.lengths.sum())

    return work

  works = {count: working(count) for count in (1, num_cores)}
  working(1)()  # Traces the policy.
  rates = measure.alternate(works, _ROUNDS)  # Steps in a second.
  load = os.getloadavg()[0]
  return [
      measure.reported(
          f'roll-outs of {env_id}: {num_cores} processes / one',
          rates[num_cores] / rates[1],
          f'{rates[num_cores]:,.0f} and {rates[1]:,.0f} steps/s,'
          f' {cpu[num_cores]:.1f} and {cpu[1]:.1f} s of CPU time of the first'
          f' process, load {load:.1f}',
      )
  ]
