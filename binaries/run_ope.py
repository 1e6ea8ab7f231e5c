"""Off-policy evaluation, of data that it collects, or of your own.

  python binaries/run_ope.py --env=Hopper-v4 --algo=srdice
  python binaries/run_ope.py --data=logs.npz --policy=my_policy/ --algo=srdice

Killed at any moment, the same command resumes.
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags

from binaries import cli
from binaries import common_flags
from binaries import data_flags
from binaries import ope_task
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import grids
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.reports import comparison
from srdice_tf.reports import judgements
from srdice_tf.reports import ope_summary

_TASK = ope_task.define()
_SEED = common_flags.define_seed()
_SERVER_TIMEOUT = common_flags.define_server_timeout()
_ALGO = flags.DEFINE_list(
    'algo', ['srdice'],
    f'Estimators, a list of {", ".join(registry.ESTIMATORS)}.',
)
_PRESET = flags.DEFINE_enum(
    'preset', 'paper', list(presets.PRESETS | presets.FRAME_PRESETS),
    'Schedule and rates: those of the paper, or quick ones for a first look;'
    ' fixed is for frames, with faster targets than the paper prints.',
)
_NUM_SEEDS = flags.DEFINE_integer(
    'num_seeds', 1,
    'Number of runs with data of their own, counted up from --seed.', 1, 10_000
)
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir', None,
    'Data set, which is collected if it is not there; if it is, flags that are'
    ' left alone follow it. Default: one below --data_root, named by its'
    ' description.',
)
_DATA_ROOT = common_flags.define_data_root()
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None, 'Directory of the runs, each below it with the name of'
    ' its task and its seed; default: runs/<preset>.',
)
_HOLDOUT_FRACTION = common_flags.define_holdout_fraction()
_STREAM = data_flags.define_stream()
_FAIL_ON = common_flags.define_fail_on()
_VERBOSE = flags.DEFINE_boolean(
    'verbose', False, 'Print times and smoothed errors in a table of their own.'
)
_HYPERPARAMETERS = common_flags.define_hyperparameters()


def main(_) -> None:
  registry.check_names(_ALGO.value)
  task, address = _TASK()
  has_frames = runs.has_frames(task, _SERVER_TIMEOUT.value, _STREAM.value)
  preset = presets.preset(_PRESET.value, has_frames)
  config = runs.RunConfig(
      task,
      tuple(_ALGO.value),
      _HYPERPARAMETERS(preset, _ALGO.value),
      _SEED.value if _SEED.present else None,
      _DATASET_DIR.value or '',
      address,
      _HOLDOUT_FRACTION.value,
      data_root=_DATA_ROOT.value,
      stream=_STREAM.value,
  )
  root = _OUTPUT_DIR.value or os.path.join('runs', _PRESET.value)
  configs = grids.configs(config, grids.Grid(num_seeds=_NUM_SEEDS.value))
  entries = sweep.plan(configs, root, _SERVER_TIMEOUT.value)
  directory = os.path.dirname(entries[0].directory)
  table = os.path.join(directory, sweep.TABLE)
  print(f'runs in       {directory} ({_PRESET.value} preset)', flush=True)
  evaluations = sweep.run(entries, table, _SERVER_TIMEOUT.value)
  print(ope_summary.text(evaluations, entries, _VERBOSE.value))
  picture = os.path.join(directory, 'curve.png')
  comparison.plot(evaluations, picture)
  print(f'picture       {picture}')
  print(f'all numbers   {table}')
  print(f'next          tensorboard --logdir={directory}')
  comparison.check_finite(evaluations, directory)
  judgements.check(evaluations, _FAIL_ON.value, directory)


if __name__ == '__main__':
  cli.run(main)
