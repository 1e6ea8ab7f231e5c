"""Measures speed and memory; each figure is a ratio within one run.

  python binaries/benchmark.py --only=collect

A shared machine slows down both sides of a ratio; still, run it alone.
"""

from srdice_tf.logging import quiet

quiet.install()

from absl import flags

from binaries import cli
from srdice_tf.benchmarks import data
from srdice_tf.benchmarks import estimators
from srdice_tf.benchmarks import frames
from srdice_tf.benchmarks import linear
from srdice_tf.benchmarks import whole

_GROUPS = {
    'batch': lambda n: data.batching('HalfCheetah-v4', 25, max(n // 250, 1)),
    'collect': lambda n: data.collecting('HalfCheetah-v4', n, goal=0.5)
    + data.collecting('Hopper-v4', n, goal=None)
    + data.collecting('ALE/Pong-v5', max(n // 10, 1), goal=None),
    'linear': lambda n: linear.accumulating(n, num_features=1024),
    'memory': lambda n: data.frame_memory('ALE/Pong-v5', max(2 * n // 5, 1)),
    'steps': lambda n: estimators.steps(num_transitions=n),
    'frames': lambda n: frames.steps(max(n // 50, 100)),
    'td3': lambda n: whole.td3('HalfCheetah-v4'),
    'frames_memory': lambda n: whole.frames_memory('ALE/Pong-v5', 4 * n),
    'ope_memory': lambda n: whole.ope_memory('Humanoid-v4', 10 * n),
}
_ONLY = flags.DEFINE_multi_enum(
    'only', None, list(_GROUPS), 'What to measure; default: everything.'
)
_NUM_TRANSITIONS = flags.DEFINE_integer(
    'num_transitions',
    50_000,
    'Transitions to collect for a measurement.',
    lower_bound=1,
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
