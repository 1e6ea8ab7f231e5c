r"""Collects a data set with the paper's behaviour policy.

  python binaries/collect_dataset.py --env=HalfCheetah-v4 --setting=hard \
    --dataset_dir=data/halfcheetah_hard

Killed at any moment, the same command goes on, to the same data set.
"""

from srdice_tf.logging import quiet

quiet.install()

import time

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import directory as directory_lib
from srdice_tf.replay import server as server_lib
from srdice_tf.reports import summaries

_ENV = common_flags.define_env()
_POLICY = common_flags.define_policy()
_SEED = common_flags.define_seed()
_REVERB_ADDRESS = common_flags.define_reverb_address()
_SETTING = common_flags.define_setting()
_NUM_TRANSITIONS = common_flags.define_num_transitions()
_NUM_ENVS = flags.DEFINE_integer(
    'num_envs',
    None,
    'Environments that step together; default: one for 500 transitions, 25 at'
    ' the most. The data depend on it, as they do on the seed.',
    lower_bound=1,
)
_COLLECTOR = flags.DEFINE_integer(
    'collector',
    0,
    'Number of this collector, where several fill one --reverb_address; each'
    ' gathers --num_transitions of its own.',
    lower_bound=0,
)
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir',
    None,
    'Where the data set is kept; not with a server elsewhere, which keeps its'
    ' own.',
)
_SAVE_SECONDS = flags.DEFINE_float(
    'save_seconds', 30.0, 'Time between two checkpoints, at least.', 0.0
)
_SERVER_TIMEOUT = common_flags.define_server_timeout()


def main(_) -> None:
  start = time.time()
  env = environments.load(_ENV.value)
  specs = env.observation_spec(), env.action_spec()
  name = _SETTING.value or settings.default_setting(specs[1], specs[0])
  setting = settings.setting(name, env.action_spec())
  policy = loading.load_behaviour(_POLICY.value, name, _ENV.value, *specs)
  num_transitions = _NUM_TRANSITIONS.value or setting.num_transitions
  config = collection.CollectConfig(
      env_id=_ENV.value,
      policy=_POLICY.value,
      policy_checksum=loading.checksum(policy),
      setting=name,
      num_transitions=num_transitions,
      seed=_SEED.value + 1000 * _COLLECTOR.value,
      num_envs=_NUM_ENVS.value or collection.default_num_envs(num_transitions),
      collector=_COLLECTOR.value,
  )
  behaviour = settings.behaviour_policy(policy, setting)
  with _server(num_transitions) as server:
    description = collection.collect(
        config, behaviour, server, _SAVE_SECONDS.value
    )
  place = _DATASET_DIR.value or _REVERB_ADDRESS.value
  print(summaries.of_collection(description, place, time.time() - start))


def _server(num_transitions: int):
  if _REVERB_ADDRESS.value:
    return server_lib.RemoteServer(
        _REVERB_ADDRESS.value, _SERVER_TIMEOUT.value
    )
  if not _DATASET_DIR.value:
    raise errors.UserError('--dataset_dir: say where to keep the data set.')
  directory = directory_lib.DatasetDirectory(_DATASET_DIR.value)
  return server_lib.ReplayServer(directory, num_transitions)


if __name__ == '__main__':
  cli.run(main)
