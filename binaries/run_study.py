"""Evaluates several tasks on several data sets and sums up.

  python binaries/run_study.py --output_dir=runs/study --num_seeds=10

Killed at any moment, the same command resumes; with more seeds or tasks it
adds these.
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import ranges
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import grids
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks
from srdice_tf.reports import comparison
from srdice_tf.reports import study

_ENVS = flags.DEFINE_list(
    'envs', list(grids.STUDY.env_ids), 'Environments that are evaluated.'
)
_ALGO = flags.DEFINE_list(
    'algo', ['linear_srdice'],
    f'Estimators, a list of {", ".join(registry.ESTIMATORS)}.',
)
_TASK = common_flags.define_task()
_SEED = common_flags.define_seed()
_NUM_SEEDS = flags.DEFINE_integer(
    'num_seeds', grids.STUDY.num_seeds,
    'Number of data sets of each task, counted up from --seed.', 1, 10_000
)
_PRESET = flags.DEFINE_enum(
    'preset', 'paper', list(presets.PRESETS),
    'Schedule and rates: those of the paper, or quick ones for a first look.',
)
_DATA_ROOT = common_flags.define_data_root()
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', os.path.join('runs', 'study'), 'Directory of the runs.'
)
_HYPERPARAMETERS = common_flags.define_hyperparameters()


def main(_) -> None:
  ranges.check_list('envs', _ENVS.value)
  preset = presets.preset(_PRESET.value, is_frames=False)
  config = runs.RunConfig(
      tasks.TaskConfig('', **_TASK()),
      tuple(_ALGO.value),
      _HYPERPARAMETERS(preset, _ALGO.value),
      _SEED.value,
      data_root=_DATA_ROOT.value,
  )
  grid = grids.Grid(tuple(_ENVS.value), _NUM_SEEDS.value)
  entries = sweep.plan(grids.configs(config, grid), _OUTPUT_DIR.value)
  table = os.path.join(_OUTPUT_DIR.value, sweep.TABLE)
  evaluations = sweep.run(
      entries, table, on_done=lambda done: print(study.line(done), flush=True)
  )
  print(study.table(evaluations))
  print(comparison.truth_lines(evaluations))
  print(f'all numbers   {table}')
  comparison.check_finite(evaluations, table)


if __name__ == '__main__':
  cli.run(main)
