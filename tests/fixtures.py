"""A small environment whose every number is known, and data from it."""

import gymnasium
import numpy as np

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.policies import loading
from srdice_tf.policies import settings

COUNTER = 'TestCounter-v0'
COUNTER_LIMIT = 6


class Counter(gymnasium.Env):
  """Observes (a number drawn for the episode, the step, the last action).

  The reward is the step. Episodes terminate after a drawn number of steps, 2
  to 9; the time limit of 6 truncates the longer ones.
  """

  observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), np.float64)
  action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._identity = self.np_random.uniform(-1.0, 1.0)
    self._length = int(self.np_random.integers(2, 10))
    self._step = 0
    return np.array([self._identity, 0.0, 0.0]), {}

  def step(self, action):
    self._step += 1
    observation = np.array([self._identity, self._step, float(action[0])])
    terminated = self._step >= self._length
    return observation, float(self._step), terminated, False, {}


gymnasium.register(
    COUNTER, entry_point=Counter, max_episode_steps=COUNTER_LIMIT
)


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
