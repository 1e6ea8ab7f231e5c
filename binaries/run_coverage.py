"""Measures how often linear SR-DICE's 95% intervals hold the truth.

  python binaries/run_coverage.py --env=Pendulum-v1 --num_datasets=100

Killed at any moment, the same command resumes.
"""

from srdice_tf.logging import quiet

quiet.install()

import dataclasses
import os

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import presets
from srdice_tf.experiments import coverage
from srdice_tf.experiments import setup
from srdice_tf.reports import not_finite
from srdice_tf.reports import tables

_ENV = common_flags.define_env()
_POLICY = common_flags.define_policy()
_SETTING = common_flags.define_setting()
_BEHAVIOUR = common_flags.define_behaviour()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_NUM_TRANSITIONS = flags.DEFINE_integer(
    'num_transitions', 10_000, 'Transitions of each data set.', 1
)
_NUM_DATASETS = flags.DEFINE_integer(
    'num_datasets', 100, 'Independent data sets.', 2
)
# The truth's error should be far below the width of the intervals.
_TRUTH = common_flags.define_truth(max_episodes=2000)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None, 'Where results are kept; default: below runs/.'
)
_HYPER_PARAMETERS = common_flags.define_described(hyperparameters.fields())


def main(_) -> None:
  config = coverage.CoverageConfig(
      task=setup.TaskConfig(
          env_id=_ENV.value,
          policy=_POLICY.value or '',
          setting=_SETTING.value or '',
          num_transitions=_NUM_TRANSITIONS.value,
          gamma=_GAMMA.value,
          **_TRUTH(),
          **_BEHAVIOUR(),
      ),
      num_datasets=_NUM_DATASETS.value,
      estimators=presets.preset('paper', False).replace(**_HYPER_PARAMETERS()),
      seed=_SEED.value,
  )
  name = f'coverage_{_ENV.value}'.replace('/', '_')
  directory = _OUTPUT_DIR.value or os.path.join('runs', name)
  found = coverage.run(config, directory)
  fields = dataclasses.asdict(found)
  print(tables.format_table(('of the intervals', ''), list(fields.items())))
  path = os.path.join(directory, coverage.FILE_NAME)
  print(f'all           {path}')
  not_finite.check({'the mean estimate': found.bias}, path)
  not_finite.check({'the intervals': found.share}, path)


if __name__ == '__main__':
  cli.run(main)
