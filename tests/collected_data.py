"""Small data of our own collector, to be written in other formats."""

import functools
import tempfile

import numpy as np

from srdice_tf import collection
from srdice_tf import data
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from tests import fixtures

PENDULUM, CARTPOLE = 'Pendulum-v1', 'CartPole-v1'
SETTINGS = {PENDULUM: 'hard', CARTPOLE: 'noise'}


def collect(path, env_id: str):
  """Collects 450 transitions, some of unfinished episodes, into a directory."""
  config = fixtures.config(
      450, env_id=env_id, setting=SETTINGS[env_id], num_envs=2
  )
  directory = directories.DatasetDirectory(str(path))
  with servers.ReplayServer(directory, 1000) as server:
    policy = fixtures.behaviour_policy(config)
    collection.collect(config, policy, server)


@functools.cache
def dataset(env_id: str) -> data.Dataset:
  """Returns such data, which must not be changed."""
  with tempfile.TemporaryDirectory() as path:
    collect(path, env_id)
    return data.open_data(path).dataset


def arrays(dataset: data.Dataset) -> dict[str, np.ndarray]:
  """Returns the data as arrays with one row a step, as D4RL has them."""
  episodes = dataset.to_episodes()
  is_last = np.concatenate([
      np.arange(len(each.rewards)) == len(each.rewards) - 1
      for each in episodes
  ])
  join = lambda part: np.concatenate([part(each) for each in episodes])
  terminals = dataset.not_done.numpy() == 0
  return {
      'observations': join(lambda each: each.observations[:-1]),
      'next_observations': join(lambda each: each.observations[1:]),
      'actions': join(lambda each: each.actions),
      'rewards': join(lambda each: each.rewards),
      'terminals': terminals,
      'timeouts': is_last & ~terminals,
  }
