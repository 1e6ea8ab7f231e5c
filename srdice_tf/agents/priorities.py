"""Prioritised replay: items drawn by their last error, with Reverb's selector.

Reverb draws from its own generators, so runs with it are the same in
distribution only, not in each number.
"""

from collections.abc import Iterable
import os

import numpy as np
import reverb

from srdice_tf.agents import configs
from srdice_tf.agents import experience_server

_DIRECTORY = 'priorities'


class Priorities:
  """A table of items with priorities; the caller decides what items hold."""

  def __init__(self, parameters: configs.DdqnConfig, max_size: int):
    self._parameters = parameters
    self._max_size = max_size
    self.max_priority = 1.0
    self.server = experience_server.ExperienceServer(self._make_table)

  def _make_table(self, name: str) -> reverb.Table:
    return reverb.Table(
        name=name,
        sampler=reverb.selectors.Prioritized(
            self._parameters.priority_exponent
        ),
        remover=reverb.selectors.Fifo(),
        max_size=self._max_size,
        rate_limiter=reverb.rate_limiters.MinSize(1),
    )

  def add(self, items: Iterable[tuple]):
    # Items that were never sampled come first: their error is not known yet.
    self.server.insert_all(items, self.max_priority)

  def sample(self):
    """Returns a minibatch of samples and their weights [B]."""
    samples = self.server.sample(self._parameters.batch_size)
    return samples, self.importance_weights(samples)

  def importance_weights(self, samples) -> np.ndarray:
    """Returns weights [B] that undo the priorities, 1 for the rarest sample."""
    scaled = np.array([s.info.probability * s.info.table_size for s in samples])
    weights = scaled ** -self._parameters.importance_exponent  # [B]
    return (weights / weights.max()).astype(np.float32)

  def update(self, samples, td_errors):
    """Sets the priorities of samples to their errors [B]."""
    least = self._parameters.min_priority
    priorities = np.maximum(np.abs(td_errors), least)  # [B]
    self.max_priority = max(self.max_priority, float(priorities.max()))
    keys = (sample.info.key for sample in samples)
    self.server.update_priorities(dict(zip(keys, priorities.tolist())))

  def save(self, directory: str):
    path = os.path.join(directory, _DIRECTORY)
    os.makedirs(path)
    np.save(os.path.join(path, 'max_priority.npy'), self.max_priority)
    self.server.save(path)

  def restore(self, directory: str):
    path = os.path.join(directory, _DIRECTORY)
    self.max_priority = float(np.load(os.path.join(path, 'max_priority.npy')))
    self.server.restore(path)

  def close(self):
    self.server.stop()
