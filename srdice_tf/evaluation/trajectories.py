"""States and actions that a policy comes by, as one long table."""

from typing import NamedTuple

import numpy as np
from tf_agents.policies import tf_policy

from srdice_tf.evaluation import rollouts
from srdice_tf.logging import progress


class Trajectories(NamedTuple):
  """The steps of all roll-outs, without what follows an end.

  Attributes:
    states: [N, ...] as observed.
    actions: [N, ...] of the policy.
    episodes: [N] the number of the roll-out.
    weights: [N] (1-gamma) gamma^t, t being the step in the roll-out.
    num_episodes: of all roll-outs.
  """

  states: np.ndarray
  actions: np.ndarray
  episodes: np.ndarray
  weights: np.ndarray
  num_episodes: int

  def values(self, rewards: np.ndarray) -> np.ndarray:
    """Returns (1-gamma) sum_t gamma^t r_t of each roll-out, for rewards [N]."""
    return np.bincount(
        self.episodes,
        self.weights * np.asarray(rewards, np.float64),
        self.num_episodes,
    )


def sample(
    config: rollouts.RollOutConfig,
    policy: tf_policy.TFPolicy,
    num_episodes: int,
) -> Trajectories:
  """Plays roll-outs, the first batch of those that `rollouts.measure` plays.

  Args:
    config: what is rolled out.
    policy: with its noise.
    num_episodes: roll-outs.
  """
  recorder = _Recorder(config.gamma, config.horizon)
  label = f'roll out {config.env_id}'
  with progress.Progress(num_episodes, 'roll-outs', label) as bar:
    for share in rollouts.play(config, policy, num_episodes, recorder):
      bar.update(int(share * num_episodes))
  columns = map(np.concatenate, zip(*recorder.steps))
  return Trajectories(*columns, num_episodes=num_episodes)


class _Recorder:
  """A transition observer that keeps what is seen and done."""

  def __init__(self, gamma: float, horizon: int):
    self._gamma = gamma
    self._horizon = horizon
    self.steps = []

  def __call__(self, transition):
    time_step, policy_step, _ = transition
    (alive,) = np.nonzero(~time_step.is_last())  # [B']
    step = len(self.steps)
    if step < self._horizon:
      weight = (1.0 - self._gamma) * self._gamma**step
      self.steps.append((
          np.array(time_step.observation)[alive],
          np.array(policy_step.action)[alive],
          alive,
          np.full(len(alive), weight),
      ))
