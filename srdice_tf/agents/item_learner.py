"""Replay sampled by Reverb: prioritised, or too large for a tensor."""

import os

import numpy as np
import reverb
import tensorflow as tf

from srdice_tf.agents import collector
from srdice_tf.agents import learner
from srdice_tf.agents import replay_server


class ItemLearner(learner.Learner):
  """One item a transition, sampled by Reverb's own selectors.

  Reverb compresses the frames and draws from generators of its own, so runs
  with it repeat in distribution, not in each number.
  """

  def __init__(self, agent, parameters, prioritised: bool):
    """Starts the replay.

    Args:
      agent: a TF-Agents DQN agent, whose loss information has TD errors.
      parameters: its DdqnConfig.
      prioritised: whether to sample by the last TD error of a transition.
    """
    self._agent = agent
    self._parameters = parameters
    self._prioritised = prioritised
    self._max_priority = 1.0
    self._server = replay_server.ReplayServer(self._make_table)

  def _make_table(self, name: str) -> reverb.Table:
    if self._prioritised:
      exponent = self._parameters.priority_exponent
      sampler = reverb.selectors.Prioritized(exponent)
    else:
      sampler = reverb.selectors.Uniform()
    return reverb.Table(
        name=name,
        sampler=sampler,
        remover=reverb.selectors.Fifo(),
        max_size=self._parameters.replay_capacity,
        rate_limiter=reverb.rate_limiters.MinSize(1),
    )

  def add(self, block):
    # What was never sampled comes first: its error is not known yet.
    self._server.insert_all(zip(*block), self._max_priority)

  def learn(self, num_updates, seed):
    del seed  # Reverb draws.
    losses = [self._update() for _ in range(num_updates)]
    return {'loss': float(np.mean(losses))}

  def _update(self) -> float:
    samples = self._server.sample(self._parameters.batch_size)
    parts = [np.stack(column) for column in zip(*(s.data for s in samples))]
    weights = self._importance_weights(samples)  # [B]
    loss, td_errors = self._train(
        collector.Transitions(*map(tf.constant, parts)), tf.constant(weights)
    )
    if self._prioritised:
      self._set_priorities(samples, np.abs(td_errors.numpy()))
    return float(loss)

  @tf.function(autograph=False)
  def _train(self, batch, weights):
    experience = learner.as_experience(self._agent, batch)
    info = self._agent.train(experience, weights)
    return info.loss, info.extra.td_error

  def _importance_weights(self, samples) -> np.ndarray:
    if not self._prioritised:
      return np.ones(len(samples), np.float32)
    scaled = np.array([s.info.probability * s.info.table_size for s in samples])
    weights = scaled ** -self._parameters.importance_exponent  # [B]
    return (weights / weights.max()).astype(np.float32)

  def _set_priorities(self, samples, td_errors):
    priorities = np.maximum(td_errors, self._parameters.min_priority)  # [B]
    self._max_priority = max(self._max_priority, float(priorities.max()))
    keys = (sample.info.key for sample in samples)
    self._server.update_priorities(dict(zip(keys, priorities.tolist())))

  def save(self, directory):
    np.save(os.path.join(directory, 'max_priority.npy'), self._max_priority)
    self._server.save(directory)

  def restore(self, directory):
    path = os.path.join(directory, 'max_priority.npy')
    self._max_priority = float(np.load(path))
    self._server.restore(directory)

  def close(self):
    self._server.stop()
