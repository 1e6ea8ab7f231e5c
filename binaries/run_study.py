"""Evaluates several tasks on several data sets and sums up.

  python binaries/run_study.py --output_dir=runs/study --num_seeds=10

Killed at any moment, the same command resumes; with more seeds or tasks it
adds these.
"""

from srdice_tf.logging import quiet

quiet.install()

import dataclasses
import os

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import environments
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.experiments import setup
from srdice_tf.experiments import study
from srdice_tf.reports import study as report

_ENVS = flags.DEFINE_list(
    'envs', list(environments.CONTINUOUS_TASKS), 'Environments.'
)
_ALGO = flags.DEFINE_list('algo', ['linear_srdice'], 'Estimators.')
_TASK = common_flags.define_task()
_SEED = common_flags.define_seed()
_NUM_SEEDS = flags.DEFINE_integer(
    'num_seeds', 10, 'Data sets of each task, from --seed on.', 1, 10_000
)
_PRESET = flags.DEFINE_enum(
    'preset', 'paper', list(config_lib.PRESETS), 'Schedule and rates.'
)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', os.path.join('runs', 'study'), 'Where all of it is kept.'
)
_HYPER_PARAMETERS = common_flags.define_fields(config_lib.Config)


def main(_) -> None:
  registry.check_names(_ALGO.value)
  config = study.StudyConfig(
      env_ids=tuple(_ENVS.value),
      algos=tuple(_ALGO.value),
      task=setup.TaskConfig('', **{'setting': 'hard', **_TASK()}),
      seeds=tuple(range(_SEED.value, _SEED.value + _NUM_SEEDS.value)),
      estimators=dataclasses.replace(
          config_lib.PRESETS[_PRESET.value], **_HYPER_PARAMETERS()
      ),
  )
  runs = []
  name = f'{config.task.setting}_{"_".join(config.algos)}.csv'
  path = os.path.join(_OUTPUT_DIR.value, name)
  for done in study.run(config, _OUTPUT_DIR.value):
    runs.append(done)
    report.write(path, runs)
    print(report.line(done), flush=True)
  print(report.table(runs))
  print(report.truth_lines(runs))
  print(f'all           {path}')
  report.check_finite(runs, path)


if __name__ == '__main__':
  cli.run(main)
