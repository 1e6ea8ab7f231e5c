"""Measures speed and memory; each figure is a ratio within one run.

  python binaries/benchmark.py --only=collect

A busy machine slows down both sides of a ratio; still, run it alone.
"""

from srdice_tf import console

console.start(__file__)

from absl import flags

from binaries import cli
from srdice_tf.benchmarks import agent_costs
from srdice_tf.benchmarks import collector_costs
from srdice_tf.benchmarks import data_costs
from srdice_tf.benchmarks import frame_step_costs
from srdice_tf.benchmarks import linear_costs
from srdice_tf.benchmarks import program_costs
from srdice_tf.benchmarks import robust_costs
from srdice_tf.benchmarks import rollout_costs
from srdice_tf.benchmarks import step_costs
from srdice_tf.benchmarks import stream_costs

_GROUPS = {
    'batch': lambda n: data_costs.batching(
        'HalfCheetah-v4', 25, max(n // 250, 1)
    ),
    'collect': lambda n: data_costs.collecting('HalfCheetah-v4', n, goal=0.5)
    + data_costs.collecting('Hopper-v4', n, goal=None)
    + data_costs.collecting('ALE/Pong-v5', max(n // 10, 1), goal=None),
    'collectors': lambda n: collector_costs.collectors('Pendulum-v1', n),
    'linear': lambda n: linear_costs.accumulating(n, num_features=1024),
    'memory': lambda n: data_costs.frame_memory(
        'ALE/Pong-v5', max(2 * n // 5, 1)
    ),
    'steps': lambda n: step_costs.steps(num_transitions=n),
    'dr': lambda n: robust_costs.summing(n)
    + robust_costs.value_members(n, num_members=5),
    'frames': lambda n: frame_step_costs.steps(max(n // 50, 100)),
    'rollouts': lambda n: rollout_costs.processes(
        'Humanoid-v4', max(n // 500, 2)
    )
    + rollout_costs.processes('ALE/Pong-v5', max(n // 2500, 2))
    + rollout_costs.processes('Pendulum-v1', max(n // 500, 2)),
    'stream': lambda n: stream_costs.steps('Humanoid-v4', n),
    'td3': lambda n: agent_costs.learning('HalfCheetah-v4')
    + agent_costs.updating('HalfCheetah-v4')
    + agent_costs.stepping('HalfCheetah-v4'),
    'frames_memory': lambda n: program_costs.frames_memory(
        'ALE/Pong-v5', 4 * n
    ),
    'ope_memory': lambda n: program_costs.ope_memory('Humanoid-v4', 10 * n),
}
_ONLY = flags.DEFINE_multi_enum(
    'only', None, list(_GROUPS),
    'Group to measure; default: all of them.',
)
_NUM_TRANSITIONS = flags.DEFINE_integer(
    'num_transitions',
    50_000,
    'Number of transitions in a measurement.',
    lower_bound=1,
    upper_bound=1_000_000,
)


def main(_) -> int:
  missed = 0
  for name in _ONLY.value or _GROUPS:
    for result in _GROUPS[name](_NUM_TRANSITIONS.value):
      verdict = {True: 'ok', False: 'MISSED', None: ''}[result.is_met]
      missed += result.is_met is False
      print(
          f'{result.name:58} {result.ratio:6.2f} {result.goal:7} {verdict:6}'
          f' ({result.detail})',
          flush=True,
      )
  return int(missed > 0)


if __name__ == '__main__':
  cli.run(main)
