"""Off-policy evaluation: collects data, trains estimators, compares to truth.

  python binaries/run_ope.py --env=Hopper-v4 --algo=srdice

Killed at any moment, the same command resumes.
"""

from srdice_tf.logging import quiet

quiet.install()

import dataclasses
import os

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.experiments import ope
from srdice_tf.experiments import seeds
from srdice_tf.experiments import setup
from srdice_tf.reports import ope as report
from srdice_tf.reports import selection

_ENV = common_flags.define_env()
_TASK = common_flags.define_task()
_SEED = common_flags.define_seed()
_REVERB_ADDRESS = common_flags.define_reverb_address()
_SERVER_TIMEOUT = common_flags.define_server_timeout()
_ALGO = flags.DEFINE_list(
    'algo', ['srdice'], f'Estimators, a list of {", ".join(registry.NAMES)}.'
)
_PRESET = flags.DEFINE_enum(
    'preset', 'paper', list(config_lib.PRESETS | config_lib.FRAME_PRESETS),
    'Schedule and rates; fixed is for frames.',
)
_NUM_SEEDS = flags.DEFINE_integer(
    'num_seeds', 1, 'Runs, from --seed on.', 1, 10_000
)
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir', None,
    'Data set, which is collected if it is not there; if it is, flags that are'
    ' left alone follow it. Default: one below data/, named by its description.'
)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None, 'Where the run is kept; default: below runs/.'
)
_HOLDOUT_FRACTION = common_flags.define_holdout_fraction()
_HYPER_PARAMETERS = common_flags.define_fields(config_lib.Config)


def main(_) -> None:
  registry.check_names(_ALGO.value)
  preset = setup.preset(_ENV.value, _PRESET.value)
  config = ope.RunConfig(
      setup.TaskConfig(_ENV.value, **_TASK()),
      tuple(_ALGO.value),
      dataclasses.replace(preset, **_HYPER_PARAMETERS()),
      _SEED.value if _SEED.present else None,
      _DATASET_DIR.value or '',
      _REVERB_ADDRESS.value or '',
      _HOLDOUT_FRACTION.value,
  )
  configs = ope.of_seeds(config, _NUM_SEEDS.value, _SERVER_TIMEOUT.value)
  task, estimators = configs[0].task, config.estimators
  name = f'{task.env_id}_{task.setting}'.replace('/', '_')
  output_dir = _OUTPUT_DIR.value or os.path.join(
      'runs', f'{name}_{"_".join(_ALGO.value)}_{_PRESET.value}'
  )
  print(
      f'{_PRESET.value} preset: encoder {estimators.encoder_steps:,}, successor'
      f' {estimators.successor_steps:,}, updates {estimators.updates:,}'
  )
  results, run_dirs = [], []
  for config in configs:
    run_dirs.append(os.path.join(output_dir, f'seed{config.seed}'))
    results.append(ope.run(config, run_dirs[-1], _SERVER_TIMEOUT.value))
    print(selection.lines(run_dirs[-1]))
    print(report.details_lines(results[-1]))
  print(report.results_table(results), seeds.truth_lines(run_dirs), sep='\n')
  picture = os.path.join(output_dir, 'curve.png')
  seeds.plot(run_dirs, picture, seeds.title(task, len(run_dirs)))
  print(f'picture       {picture}')
  print(f'next          tensorboard --logdir={output_dir}')
  seeds.check_finite(run_dirs)


if __name__ == '__main__':
  cli.run(main)
