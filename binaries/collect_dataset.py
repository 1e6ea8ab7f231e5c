r"""Collects a data set with the paper's behaviour policy.

  python binaries/collect_dataset.py --env=HalfCheetah-v4 --setting=hard \
    --dataset_dir=data/halfcheetah_hard

If it is killed, the same command continues and gives the same data set.
"""

from srdice_tf import console

console.start(__file__)

import time

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import collection
from srdice_tf import errors
from srdice_tf.experiments import tasks
from srdice_tf.policies import seeded
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from srdice_tf.reports import summaries

_ENV = common_flags.define_env()
_DATA = common_flags.define_data()
_SEED = common_flags.define_seed()
_REVERB_ADDRESS = common_flags.define_reverb_address()
_NUM_ENVS = flags.DEFINE_integer(
    'num_envs',
    None,
    'Number of environments that step together. The default is one for every'
    ' 500 transitions, or for every episode of full length if that is longer,'
    ' and at most 25. The data depend on this number, as on the seed.',
    lower_bound=1,
)
_COLLECTOR = flags.DEFINE_integer(
    'collector',
    0,
    'Number of this collector, if several fill the server at --reverb_address.'
    ' Each collects --num_transitions, different ones for each seed and'
    ' number.',
    lower_bound=0,
    upper_bound=seeded.NUM_STREAMS - 1,
)
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir',
    None,
    'Directory of the data set. It cannot be set together with'
    ' --reverb_address, as that server keeps the data.',
)
_SAVE_SECONDS = flags.DEFINE_float(
    'save_seconds', 30.0, 'Shortest time between two checkpoints, in seconds.',
    0.0,
)
_SERVER_TIMEOUT = common_flags.define_server_timeout()


def main(_) -> None:
  start = time.time()
  task = tasks.Task(
      tasks.TaskConfig(_ENV.value, num_envs=_NUM_ENVS.value or 0, **_DATA())
  )
  config = task.collect_config(_SEED.value, _COLLECTOR.value)
  with _server(task) as server:
    description = collection.collect(
        config, task.behaviour, server, _SAVE_SECONDS.value
    )
  place = _DATASET_DIR.value or _REVERB_ADDRESS.value
  print(summaries.of_collection(description, place, time.time() - start))


def _server(task: tasks.Task):
  if _REVERB_ADDRESS.value:
    if _DATASET_DIR.value:
      raise errors.UserError(
          'dataset_dir',
          _DATASET_DIR.value,
          'not together with reverb_address, whose server keeps the data',
      )
    return servers.RemoteServer(
        _REVERB_ADDRESS.value, _SERVER_TIMEOUT.value
    )
  if not _DATASET_DIR.value:
    raise errors.at('dataset_dir', 'say where to keep the data set')
  task.check_memory()
  directory = directories.DatasetDirectory(_DATASET_DIR.value)
  return servers.ReplayServer(directory, task.config.num_transitions)


if __name__ == '__main__':
  cli.run(main)
