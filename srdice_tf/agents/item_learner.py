"""Prioritised replay of small observations, one item per transition."""

import numpy as np
import tensorflow as tf

from srdice_tf.agents import collector
from srdice_tf.agents import learner
from srdice_tf.agents import priorities


class ItemLearner(learner.Learner):
  """One item per transition, drawn by its last TD error."""

  def __init__(self, agent, parameters):
    """Starts the replay.

    Args:
      agent: a TF-Agents DQN agent, whose loss information has TD errors.
      parameters: its DdqnConfig.
    """
    self._agent = agent
    self._priorities = priorities.Priorities(
        parameters, parameters.replay_capacity
    )

  def add(self, block):
    self._priorities.add(zip(*block))

  def learn(self, num_updates, seed, part=None):
    del seed  # Reverb draws.
    losses = [self._update() for _ in part or range(num_updates)]
    return {'loss': float(np.mean(losses))}

  def _update(self) -> float:
    samples, weights = self._priorities.sample()
    parts = [np.stack(column) for column in zip(*(s.data for s in samples))]
    loss, td_errors = self._train(
        collector.Steps(*map(tf.constant, parts)), tf.constant(weights)
    )
    self._priorities.update(samples, td_errors.numpy())
    return float(loss)

  @tf.function(autograph=False)
  def _train(self, batch, weights):
    experience = learner.as_experience(self._agent, batch)
    info = self._agent.train(experience, weights)
    return info.loss, info.extra.td_error

  def save(self, directory):
    self._priorities.save(directory)

  def restore(self, directory):
    self._priorities.restore(directory)

  def close(self):
    self._priorities.close()
