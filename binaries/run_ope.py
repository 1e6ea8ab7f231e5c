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
_POLICY = common_flags.define_policy()
_SETTING = common_flags.define_setting()
_NUM_TRANSITIONS = common_flags.define_num_transitions()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_REVERB_ADDRESS = common_flags.define_reverb_address()
_SERVER_TIMEOUT = common_flags.define_server_timeout()
_ALGO = flags.DEFINE_list(
    'algo', ['srdice'], f'Estimators, a list of {", ".join(registry.NAMES)}.'
)
_PRESET = flags.DEFINE_enum(
    'preset', 'paper', list(config_lib.PRESETS | config_lib.FRAME_PRESETS),
    'Schedule and rates; fixed is for frames.',
)
_NUM_SEEDS = flags.DEFINE_integer('num_seeds', 1, 'Runs, from --seed on.', 1)
_TRUTH = common_flags.define_truth()
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir', None, 'Data set to use; default: one below data/.'
)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None, 'Where the run is kept; default: below runs/.'
)
_HOLDOUT_FRACTION = common_flags.define_holdout_fraction()
_HYPER_PARAMETERS = common_flags.define_fields(config_lib.Config)


def main(_) -> None:
  registry.check_names(_ALGO.value)
  task = setup.TaskConfig(
      env_id=_ENV.value,
      policy=_POLICY.value,
      setting=_SETTING.value or '',
      num_transitions=_NUM_TRANSITIONS.value or 0,
      gamma=_GAMMA.value,
      **_TRUTH(),
  )
  preset = setup.preset(task.env_id, _PRESET.value)
  estimators = dataclasses.replace(preset, **_HYPER_PARAMETERS())
  name = f'{task.env_id}_{task.setting or "default"}'.replace('/', '_')
  output_dir = _OUTPUT_DIR.value or os.path.join(
      'runs', f'{name}_{"_".join(_ALGO.value)}_{_PRESET.value}'
  )
  print(
      f'{_PRESET.value} preset: encoder {estimators.encoder_steps:,}, successor'
      f' {estimators.successor_steps:,}, updates {estimators.updates:,}'
  )
  results, run_dirs = [], []
  for seed in range(_SEED.value, _SEED.value + _NUM_SEEDS.value):
    dataset_dir = _DATASET_DIR.value or os.path.join(
        'data', f'{name}_{task.num_transitions or "paper"}_seed{seed}'
    )
    config = ope.RunConfig(
        task,
        tuple(_ALGO.value),
        estimators,
        seed,
        dataset_dir,
        _REVERB_ADDRESS.value or '',
        _HOLDOUT_FRACTION.value,
    )
    run_dirs.append(os.path.join(output_dir, f'seed{seed}'))
    results.append(ope.run(config, run_dirs[-1], _SERVER_TIMEOUT.value))
    print(selection.lines(run_dirs[-1]))
    print(report.details_lines(results[-1]))
  print(report.results_table(results), seeds.truth_lines(run_dirs), sep='\n')
  picture = os.path.join(output_dir, 'curve.png')
  seeds.plot(run_dirs, picture, seeds.title(task, len(run_dirs)))
  print(f'picture       {picture}')
  print(f'next          tensorboard --logdir={output_dir}')


if __name__ == '__main__':
  cli.run(main)
