"""Data of the collector, and the same as steps of TF-Agents."""

import functools

import numpy as np
import tensorflow as tf
from tf_agents.policies import random_py_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step
from tf_agents.trajectories import trajectory

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.data.sources import reverb_server
from srdice_tf.replay import servers
from tests import fixtures


@functools.cache
def collected(env_id: str, num_transitions: int = 60):
  """Returns what the collector collects, with ended and cut episodes."""
  is_discrete = environments.load(env_id).action_spec().dtype == np.int64
  config = fixtures.config(
      num_transitions,
      env_id=env_id,
      num_envs=2,
      setting='main' if is_discrete else 'hard',
  )
  with servers.ReplayServer() as server:
    collection.collect(config, fixtures.behaviour_policy(config), server)
    codec = collection.codec_of(environments.load(env_id))
    return reverb_server.load(server.client, codec)


def spec_of(env_id: str, policy_info=()):
  """Returns the spec of the steps of an environment, as agents have it."""
  env = environments.load(env_id)
  specs = tensor_spec.from_spec((env.observation_spec(), env.action_spec()))
  return trajectory.from_transition(
      time_step.time_step_spec(specs[0]),
      policy_step.PolicyStep(specs[1], (), policy_info),
      time_step.time_step_spec(specs[0]),
  )


def random_policy(env):
  return random_py_policy.RandomPyPolicy(
      env.time_step_spec(), env.action_spec(), seed=0
  )


def steps_of(episode, policy_info=lambda t: ()):
  """Yields the steps of an episode, as drivers give them to observers.

  What ends in no terminal state is cut: the step after it never comes.
  """
  length = len(episode.rewards)
  types = np.full(length + 2, 1, np.int32)
  types[0] = 0
  if episode.is_terminal:
    types[length:] = 2, 0
  for t in range(length + 1):
    is_over = t == length
    yield trajectory.Trajectory(
        step_type=types[t],
        observation=episode.observations[t],
        action=episode.actions[min(t, length - 1)],
        policy_info=policy_info(min(t, length - 1)),
        next_step_type=types[t + 1],
        reward=np.float32(0.0 if is_over else episode.rewards[t]),
        discount=np.float32(not (episode.is_terminal and t == length - 1)),
    )


class Recorder:
  """Remembers the steps of a driver, as episodes of plain lists."""

  def __init__(self):
    self.steps = []

  def __call__(self, step):
    self.steps.append(tf.nest.map_structure(np.array, step))

  def episodes(self):
    """Returns observations, actions, rewards and the end of each episode."""
    found = []
    for step in self.steps:
      if step.step_type == 0:
        found.append(([], [], [], []))
      observations, actions, rewards, discounts = found[-1]
      observations.append(step.observation)
      if step.step_type != 2:
        actions.append(step.action)
        rewards.append(step.reward)
        discounts.append(step.discount)
    return found


def assert_same_episodes(found, recorded):
  """Compares episodes with those of a `Recorder`, the last one cut."""
  assert len(found) == len(recorded)
  for episode, (observations, actions, rewards, discounts) in zip(
      found, recorded
  ):
    size = len(observations) - 1
    np.testing.assert_array_equal(episode.observations, observations)
    np.testing.assert_array_equal(episode.actions, actions[:size])
    np.testing.assert_array_equal(episode.rewards, rewards[:size])
    assert episode.is_terminal == (discounts[size - 1] == 0)
