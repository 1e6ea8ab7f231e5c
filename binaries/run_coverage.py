"""Measures how often a method's 95% intervals hold the truth.

  python binaries/run_coverage.py --env=Pendulum-v1 --num_datasets=100

One long data set is collected and cut into parts of whole episodes: episodes
are independent. Killed at any moment, the same command resumes.
"""

from srdice_tf import console

console.start(__file__)

import dataclasses
import os

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf.evaluation import coverage
from srdice_tf.experiments import grids
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks
from srdice_tf.reports import not_finite
from srdice_tf.reports import tables

_ENV = common_flags.define_env()
_POLICY = common_flags.define_policy()
_SETTING = common_flags.define_setting()
_BEHAVIOUR = common_flags.define_behaviour()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_ALGO = flags.DEFINE_string(
    'algo', 'linear_srdice', 'Estimator whose intervals are measured.'
)
_NUM_TRANSITIONS = flags.DEFINE_integer(
    'num_transitions', 10_000, 'Transitions of each data set.', 1
)
_NUM_DATASETS = flags.DEFINE_integer(
    'num_datasets', grids.COVERAGE.num_parts, 'Independent data sets.', 2,
    10_000,
)
# The truth's error should be far below the width of the intervals.
_TRUTH = common_flags.define_rollouts(max_episodes=2000)
_DATA_ROOT = common_flags.define_data_root()
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', os.path.join('runs', 'coverage'), 'Directory of the runs.'
)
_HYPERPARAMETERS = common_flags.define_hyperparameters()


def main(_) -> None:
  preset = tasks.preset(_ENV.value, 'paper')
  config = runs.RunConfig(
      tasks.TaskConfig(
          env_id=_ENV.value,
          policy=_POLICY.value or '',
          setting=_SETTING.value or '',
          num_transitions=_NUM_TRANSITIONS.value,
          gamma=_GAMMA.value,
          **_TRUTH(),
          **_BEHAVIOUR(),
      ),
      (_ALGO.value,),
      _HYPERPARAMETERS(preset, [_ALGO.value]),
      _SEED.value,
      data_root=_DATA_ROOT.value,
  )
  grid = grids.Grid(num_parts=_NUM_DATASETS.value)
  entries = sweep.plan(grids.configs(config, grid), _OUTPUT_DIR.value)
  directory = os.path.dirname(entries[0].directory)
  table = os.path.join(directory, sweep.TABLE)
  found = coverage.of_method(sweep.run(entries, table), _ALGO.value)
  fields = dataclasses.asdict(found)
  print(tables.format_table(('of the intervals', ''), list(fields.items())))
  print(f'all numbers   {table}')
  not_finite.check({'the mean estimate': found.bias}, table)
  not_finite.check({'the intervals': found.share}, table)


if __name__ == '__main__':
  cli.run(main)
