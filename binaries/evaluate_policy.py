"""Measures the true value of a policy: by roll-outs, exact in finite MDPs.

  python binaries/evaluate_policy.py --env=HalfCheetah-v4 --num_episodes=100

The value is normalised: (1-gamma) E[sum_t gamma^t r_t], a reward per step.
"""

from srdice_tf import console

console.start(__file__)

import dataclasses
import json
import time

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf.evaluation import rollouts
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truths
from srdice_tf.policies import settings
from srdice_tf.reports import summaries

_ENV = common_flags.define_env()
_POLICY = common_flags.define_policy()
_BEHAVIOUR = common_flags.define_behaviour()
_SEED = common_flags.define_seed()
_GAMMA = common_flags.define_gamma()
_NUM_EPISODES = flags.DEFINE_integer(
    'num_episodes',
    None,
    'Roll-outs; default: until the standard error is below 0.5% of the value'
    ' (near 0: of a tenth of the standard deviation of the rewards).',
    lower_bound=1,
)
_MAX_EPISODES = common_flags.define_truth_max_episodes()
_NOISE = flags.DEFINE_enum(
    'noise',
    'target',
    ('target', 'none', *settings.NAMES),
    "What surrounds the base policy: the target policy's noise, none, or a"
    ' setting of the behaviour policy, whose base policy --behaviour_policy'
    ' names.',
)
_KEEP_TIME_LIMIT = common_flags.define_keep_time_limit()
_JSON = flags.DEFINE_boolean('json', False, 'Print one line of JSON instead.')


def main(_) -> None:
  start = time.time()
  config = tasks.TaskConfig(
      _ENV.value, _POLICY.value or '', gamma=_GAMMA.value, **_BEHAVIOUR()
  )
  policy, name = tasks.policy_with_noise(config, _NOISE.value)
  config = rollouts.RollOutConfig(
      _ENV.value,
      _GAMMA.value,
      _SEED.value,
      _KEEP_TIME_LIMIT.value,
      whole_episodes=True,
  )
  value = truths.value(
      config, policy, _NUM_EPISODES.value or 0, _MAX_EPISODES.value
  )
  if _JSON.value:
    print(json.dumps(dataclasses.asdict(value)))
    return
  print(
      summaries.of_value(
          value,
          _ENV.value,
          name,
          _NOISE.value,
          time.time() - start,
      )
  )


if __name__ == '__main__':
  cli.run(main)
