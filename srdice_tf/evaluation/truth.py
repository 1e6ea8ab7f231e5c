"""The true value of a policy, by roll-outs in the real environment."""

import dataclasses
import math

import numpy as np
from tf_agents.drivers import py_driver
from tf_agents.policies import tf_policy

from srdice_tf import environments
from srdice_tf.logging import progress as progress_lib
from srdice_tf.policies import seeded

# Rewards with a smaller discount count for nothing.
_NEGLIGIBLE = 1e-4
# Keeps the episodes apart from those of a data set with the same seed.
_SEED_OFFSET = 500_000


@dataclasses.dataclass(frozen=True)
class PolicyValue:
  """What roll-outs say of a policy.

  Attributes:
    value: R(pi) = (1-gamma) E[sum_t gamma^t r_t], per step.
    standard_error: of `value`.
    mean_return: undiscounted sum of rewards within the time limit.
    std_return: standard deviation of the return over episodes.
    mean_length: steps within the time limit.
    occupancy: (1-gamma) E[sum_t gamma^t 1(alive)], the mean that density
      ratios should have: 1, but for termination.
    num_episodes: number of roll-outs.
    gamma: the discount of `value`.
    horizon: steps after which a roll-out was cut.
  """

  value: float
  standard_error: float
  mean_return: float
  std_return: float
  mean_length: float
  occupancy: float
  num_episodes: int
  gamma: float
  horizon: int


class RollOuts:
  """A transition observer that sums up the rewards of one episode each."""

  def __init__(self, num_episodes: int, gamma: float, time_limit: int):
    self._gamma = gamma
    self._time_limit = time_limit
    self._step = 0
    self.discounted = np.zeros(num_episodes)  # [B]
    self.terminated = np.full(num_episodes, np.inf)  # [B] steps
    self.returns = np.zeros(num_episodes)  # [B]
    self.lengths = np.zeros(num_episodes)  # [B]

  def __call__(self, transition):
    time_step, _, next_time_step = transition
    alive = ~time_step.is_last()  # [B]
    rewards = np.where(alive, next_time_step.reward, 0.0)  # [B]
    self.discounted += self._gamma**self._step * rewards
    if self._step < self._time_limit:
      self.returns += rewards
      self.lengths += alive
    self._step += 1
    ended = alive & (next_time_step.discount == 0.0)  # [B]
    self.terminated[ended] = self._step


def horizon_of(gamma: float) -> int:
  """Returns the steps after which discounted rewards are negligible."""
  return math.ceil(math.log(_NEGLIGIBLE) / math.log(gamma))


def policy_value(
    env_id: str,
    policy: tf_policy.TFPolicy,
    gamma: float = 0.99,
    num_episodes: int = 100,
    seed: int = 0,
    keep_time_limit: bool = False,
    whole_episodes: bool = True,
) -> PolicyValue:
  """Returns the value of a policy; all episodes step as one batch.

  A time limit is no end of the process: roll-outs go on behind it until the
  discount is negligible, unless `keep_time_limit` asks for the paper's form,
  in which later rewards count as zero. The return is always that of the
  environment's own episodes.

  Args:
    env_id: the environment.
    policy: with its noise.
    gamma: discount.
    num_episodes: roll-outs.
    seed: of environments and actions.
    keep_time_limit: cut roll-outs at the environment's time limit.
    whole_episodes: go on to the end of the environment's own episodes, for
      their return, when the discount is long negligible, as in Atari's; if not,
      returns and lengths are those up to there.
  """
  own_limit = environments.time_limit(env_id) or horizon_of(gamma)
  limit = own_limit if keep_time_limit else max(own_limit, horizon_of(gamma))
  num_steps = limit if whole_episodes else min(limit, horizon_of(gamma))
  env = environments.load_batch(
      env_id,
      num_episodes,
      seed + _SEED_OFFSET,
      max_episode_steps=limit,
      single_episode=True,
  )
  rollouts = RollOuts(num_episodes, gamma, own_limit)
  py_policy = seeded.SeededPyPolicy(policy, num_episodes, seed + _SEED_OFFSET)
  driver = py_driver.PyDriver(
      env, py_policy, [], transition_observers=[rollouts], max_steps=1
  )
  time_step, state = env.reset(), py_policy.get_initial_state(num_episodes)
  label = f'roll out {env_id}'
  with progress_lib.Progress(num_steps, 'steps', label) as bar:
    # One step of the batch at a time: it ends when the last episode does.
    for step in range(num_steps):
      time_step, state = driver.run(time_step, state)
      bar.update(step + 1)
      if env.all_ended:
        break
  env.close()
  values = (1.0 - gamma) * rollouts.discounted  # [B]
  return PolicyValue(
      value=float(values.mean()),
      standard_error=_standard_error(values),
      mean_return=float(rollouts.returns.mean()),
      std_return=float(rollouts.returns.std()),
      mean_length=float(rollouts.lengths.mean()),
      occupancy=float(np.mean(1.0 - gamma**rollouts.terminated)),
      num_episodes=num_episodes,
      gamma=gamma,
      horizon=num_steps,
  )


def _standard_error(values: np.ndarray) -> float:
  if len(values) < 2:
    return float('nan')
  return float(values.std(ddof=1) / math.sqrt(len(values)))
