"""Counts and episode returns of stored rows."""

import numpy as np

from srdice_tf.replay import row_codec


class RowStatistics:
  """Counts transitions, episodes and returns, row by row."""

  def __init__(self, num_envs: int):
    self.num_transitions = 0
    self.num_episodes = 0
    self.returns = []
    self._reward_sum = 0.0
    self._running = [0.0] * num_envs

  def add(self, slot: int, step_type: int, reward: float):
    """Counts one row of environment `slot`."""
    if step_type == row_codec.FIRST:
      self.num_episodes += 1
      self._running[slot] = 0.0
      return
    self.num_transitions += 1
    self._reward_sum += reward
    self._running[slot] += reward
    if step_type == row_codec.LAST:
      self.returns.append(self._running[slot])

  def summary(self) -> dict:
    """Returns counts, the mean reward and the returns of ended episodes."""
    returns = np.asarray(self.returns)
    degrees = 1 if len(returns) > 1 else 0
    return {
        'transitions': self.num_transitions,
        'episodes': self.num_episodes,
        'ended_episodes': len(returns),
        'mean_reward': self._reward_sum / max(self.num_transitions, 1),
        'mean_return': float(returns.mean()) if len(returns) else None,
        'std_return': (
            float(returns.std(ddof=degrees)) if len(returns) else None
        ),
    }
