"""Replay of experience, and updates of an agent from it."""

import abc

import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from srdice_tf.agents import collector


def as_experience(agent: tf_agent.TFAgent, parts: collector.Steps):
  """Returns transitions as the agent takes them.

  All step types are MID: the discount alone says where an episode terminates.
  """
  mid = tf.fill(tf.shape(parts.reward), tf.constant(ts.StepType.MID))  # [B]
  spec = agent.time_step_spec.observation
  step = lambda observation, reward, discount: ts.TimeStep(
      mid, reward, discount, tf.cast(observation, spec.dtype)
  )
  return trajectory.Transition(
      step(
          parts.observation,
          tf.zeros_like(parts.reward),
          tf.ones_like(parts.reward),
      ),
      policy_step.PolicyStep(tf.cast(parts.action, agent.action_spec.dtype)),
      step(parts.next_observation, parts.reward, parts.discount),
  )


class Learner(abc.ABC):
  """Takes blocks of transitions, updates the agent from samples of them."""

  def gather(self, source: collector.Collector, choose, num_steps: int) -> int:
    """Collects and stores about `num_steps` steps; returns how many."""
    block = source.collect(choose, num_steps)
    self.add(block)
    return len(block.reward)

  @abc.abstractmethod
  def add(self, block: collector.Steps):
    """Stores a block."""

  @abc.abstractmethod
  def learn(
      self,
      num_updates: int,
      seed: tuple[int, int],
      part: range | None = None,
  ) -> dict[str, float]:
    """Updates the agent; returns the mean losses.

    Args:
      num_updates: for which minibatches are drawn.
      seed: of the minibatches.
      part: which of the updates to make; default: all. Calls for one part after
        the other give the same as one call for all.
    """

  @abc.abstractmethod
  def save(self, directory: str):
    """Writes the replay."""

  @abc.abstractmethod
  def restore(self, directory: str):
    """Reads what `save` wrote, into an empty replay."""

  @abc.abstractmethod
  def close(self):
    """Stops the server."""
