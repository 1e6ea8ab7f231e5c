"""Data of a small environment whose every number is known."""

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from tests import counter

COUNTER, COUNTER_LIMIT = counter.COUNTER, counter.COUNTER_LIMIT
Counter = counter.Counter


def config(num_transitions: int, **fields) -> collection.CollectConfig:
  """Returns what a test collects, by default from the counter."""
  defaults = dict(
      env_id=COUNTER,
      policy='untrained',
      policy_checksum='',
      setting='hard',
      num_transitions=num_transitions,
      num_envs=4,
  )
  return collection.CollectConfig(**{**defaults, **fields})


def behaviour_policy(config: collection.CollectConfig):
  """Returns the behaviour policy of a config."""
  env = environments.load(config.env_id)
  specs = env.observation_spec(), env.action_spec()
  policy = loading.load(config.policy, config.env_id, *specs)
  setting = settings.setting(config.setting, env.action_spec())
  return settings.behaviour_policy(policy, setting)
