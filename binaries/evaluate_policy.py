"""Measures the true value of a policy by roll-outs.

  python binaries/evaluate_policy.py --env=HalfCheetah-v4 --num_episodes=100

The value is normalised: (1-gamma) E[sum_t gamma^t r_t], a reward per step.
"""

from srdice_tf.logging import quiet

quiet.install()

import dataclasses
import json
import time

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import environments
from srdice_tf.evaluation import truth
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.reports import summaries

_ENV = common_flags.define_env()
_POLICY = common_flags.define_policy()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_NUM_EPISODES = flags.DEFINE_integer(
    'num_episodes', 100, 'Roll-outs; all step as one batch.', lower_bound=1
)
_NOISE = flags.DEFINE_enum(
    'noise',
    'target',
    ('target', 'none', *settings.NAMES),
    "What surrounds the base policy: the target policy's noise, none, or a"
    ' setting of the behaviour policy.',
)
_KEEP_TIME_LIMIT = flags.DEFINE_boolean(
    'keep_time_limit',
    False,
    "Cut roll-outs at the environment's time limit, as the paper does; by"
    ' default they go on until gamma^t is negligible.',
)
_JSON = flags.DEFINE_boolean('json', False, 'Print one line of JSON instead.')


def main(_) -> None:
  start = time.time()
  env = environments.load(_ENV.value)
  policy = loading.load(
      _POLICY.value, _ENV.value, env.observation_spec(), env.action_spec()
  )
  if _NOISE.value == 'target':
    policy = settings.target_policy(policy)
  elif _NOISE.value != 'none':
    setting = settings.setting(_NOISE.value, env.action_spec())
    policy = settings.behaviour_policy(policy, setting)
  value = truth.policy_value(
      _ENV.value,
      policy,
      _GAMMA.value,
      _NUM_EPISODES.value,
      _SEED.value,
      _KEEP_TIME_LIMIT.value,
  )
  if _JSON.value:
    print(json.dumps(dataclasses.asdict(value)))
    return
  print(
      summaries.of_value(
          value,
          _ENV.value,
          _POLICY.value,
          _NOISE.value,
          time.time() - start,
      )
  )


if __name__ == '__main__':
  cli.run(main)
