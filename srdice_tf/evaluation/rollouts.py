"""The true value of a policy, by roll-outs in the real environment.

Roll-outs come in batches, each with a seed of its own: what is known after some
of them does not depend on how many follow.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import NamedTuple

import numpy as np
from tf_agents.drivers import py_driver
from tf_agents.policies import tf_policy

from srdice_tf import environments
from srdice_tf import results
from srdice_tf.evaluation import free_cores
from srdice_tf.logging import progress
from srdice_tf.policies import seeded

# Rewards with a smaller discount count for nothing.
_NEGLIGIBLE = 1e-4
# Keeps the episodes apart from those of a data set with the same seed.
_SEED_OFFSET = 500_000
BATCH_SIZE = 100  # The paper's number of roll-outs.
# The standard error at which roll-outs end, as a share of |value|, or of a
# tenth of the rewards' standard deviation where that is larger: near 0.
_RELATIVE_ERROR = 0.005
_SHARE_OF_SPREAD = 0.1


@dataclasses.dataclass(frozen=True)
class RollOutConfig:
  """What a roll-out is, but for the policy.

  Attributes:
    env_id: the environment.
    gamma: discount.
    seed: of environments and actions.
    keep_time_limit: cut roll-outs at the environment's time limit.
    whole_episodes: go on to the end of the environment's own episodes, for
      their return, when the discount is long negligible, as in Atari's; if not,
      returns and lengths are those up to there. The value is the same.
  """

  env_id: str
  gamma: float = 0.99
  seed: int = 0
  keep_time_limit: bool = False
  whole_episodes: bool = False

  @property
  def own_limit(self) -> int:
    """Steps of the environment's own episodes."""
    return environments.time_limit(self.env_id) or horizon_of(self.gamma)

  @property
  def horizon(self) -> int:
    """Steps whose rewards are part of the value."""
    horizon = horizon_of(self.gamma)
    return min(self.own_limit, horizon) if self.keep_time_limit else horizon

  @property
  def num_steps(self) -> int:
    """Steps that are played."""
    if self.whole_episodes:
      return max(self.own_limit, self.horizon)
    return self.horizon


class RollOutBatch(NamedTuple):
  """The outcome of each roll-out of a batch, and of their rewards.

  Attributes:
    values: [B] (1-gamma) sum_t gamma^t r_t.
    occupancies: [B] (1-gamma) sum_t gamma^t 1(alive).
    returns: [B] undiscounted sums of rewards within the time limit.
    lengths: [B] steps within the time limit.
    rewards: number, sum and sum of squares of all rewards.
  """

  values: list[float]
  occupancies: list[float]
  returns: list[float]
  lengths: list[float]
  rewards: list[float]


class RollOuts:
  """A transition observer that sums up the rewards of one episode each."""

  def __init__(
      self,
      num_episodes: int,
      gamma: float,
      time_limit: int,
      horizon: int | None = None,
  ):
    """Counts returns up to the time limit, values up to the horizon."""
    self._gamma = gamma
    self._time_limit = time_limit
    self._horizon = horizon or math.inf
    self._step = 0
    self.discounted = np.zeros(num_episodes)  # [B]
    self.terminated = np.full(num_episodes, np.inf)  # [B] steps
    self.returns = np.zeros(num_episodes)  # [B]
    self.lengths = np.zeros(num_episodes)  # [B]
    self.rewards = np.zeros(3)  # Number, sum, sum of squares.

  def __call__(self, transition):
    time_step, _, next_time_step = transition
    alive = ~time_step.is_last()  # [B]
    rewards = np.where(alive, next_time_step.reward, 0.0)  # [B]
    if self._step < self._horizon:
      self.discounted += self._gamma**self._step * rewards
      self.rewards += alive.sum(), rewards.sum(), np.square(rewards).sum()
    if self._step < self._time_limit:
      self.returns += rewards
      self.lengths += alive
    self._step += 1
    ended = alive & (next_time_step.discount == 0.0)  # [B]
    self.terminated[ended] = self._step

  def batch(self) -> RollOutBatch:
    """Returns the outcomes so far."""
    return RollOutBatch(
        values=((1.0 - self._gamma) * self.discounted).tolist(),
        occupancies=(1.0 - self._gamma**self.terminated).tolist(),
        returns=self.returns.tolist(),
        lengths=self.lengths.tolist(),
        rewards=self.rewards.tolist(),
    )


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
) -> results.PolicyValue:
  """Returns the value of a policy from a number of roll-outs.

  Args:
    env_id: the environment.
    policy: with its noise.
    gamma: as all that follow, but for num_episodes, of `RollOutConfig`.
    num_episodes: roll-outs.
    seed: see there.
    keep_time_limit: see there.
    whole_episodes: see there.
  """
  config = RollOutConfig(
      env_id, gamma, seed, keep_time_limit, whole_episodes
  )
  return measure(config, policy, num_episodes)


def measure(
    config: RollOutConfig,
    policy: tf_policy.TFPolicy,
    num_episodes: int = 0,
    max_episodes: int = 1000,
    known: Mapping[str, RollOutBatch] | None = None,
    on_batch: Callable[[str, RollOutBatch], None] = lambda name, batch: None,
) -> results.PolicyValue:
  """Returns the value of a policy.

  A time limit is no end of the process: roll-outs go on behind it until the
  discount is negligible, unless `keep_time_limit` asks for the paper's form,
  in which later rewards count as zero. The return is always that of the
  environment's own episodes.

  Args:
    config: what is rolled out.
    policy: with its noise.
    num_episodes: roll-outs; 0: batch by batch until the standard error is below
      0.5% of |value|, or of a tenth of the standard deviation of the rewards
      where that is larger.
    max_episodes: the most roll-outs if `num_episodes` is 0.
    known: batches of the same config and policy, by name.
    on_batch: is given the name of each new batch, and the batch.
  """
  sizes = num_episodes, max_episodes
  batches = []
  while (name := _next_batch(batches, *sizes)) in (known or {}):
    batches.append(known[name])
  if name is not None:
    label = f'roll out {config.env_id}'
    total, done = _total(batches, *sizes), _num_episodes(batches)
    with progress.Progress(total, 'roll-outs', label, done) as bar:
      while name is not None:
        batches.append(_roll_out(config, policy, name, batches, bar))
        on_batch(name, batches[-1])
        bar.expect(_total(batches, *sizes))
        bar.update(_num_episodes(batches), **_fields(batches))
        name = _next_batch(batches, *sizes)
  wanted = None if num_episodes else wanted_error(batches)
  return _summary(config, batches, wanted)


def wanted_error(batches: Sequence[RollOutBatch]) -> float:
  """Returns the standard error of the value at which roll-outs end."""
  count, total, squares = np.sum([b.rewards for b in batches], axis=0)
  mean = total / count
  spread = math.sqrt(max(squares / count - mean**2, 0.0))
  value = abs(float(_values(batches).mean()))
  return _RELATIVE_ERROR * max(value, _SHARE_OF_SPREAD * spread)


def _is_known_well(batches) -> bool:
  # Of one roll-out the error is NaN, and not small.
  error = _standard_error(_values(batches))
  return error <= wanted_error(batches)


def _next_batch(batches, num_episodes: int, max_episodes: int) -> str | None:
  """Returns number and size of the next batch; None if there is none."""
  if not num_episodes and batches and _is_known_well(batches):
    return None
  left = (num_episodes or max_episodes) - _num_episodes(batches)
  return f'{len(batches)}:{min(BATCH_SIZE, left)}' if left > 0 else None


def _total(batches, num_episodes: int, max_episodes: int) -> int:
  """Returns how many roll-outs there will be, as far as it can be told."""
  if num_episodes or not batches:
    return num_episodes or max_episodes
  done = _num_episodes(batches)
  if _is_known_well(batches):
    return done
  missing = (_standard_error(_values(batches)) / wanted_error(batches)) ** 2
  wanted = math.ceil(done * missing / BATCH_SIZE) * BATCH_SIZE
  return max(done, min(wanted, max_episodes))


def _fields(batches) -> dict:
  """Returns what the progress line shows."""
  if not batches:
    return {}
  return {'standard_error': _standard_error(_values(batches))}


def _roll_out(
    config: RollOutConfig,
    policy: tf_policy.TFPolicy,
    name: str,
    earlier: Sequence[RollOutBatch],
    bar: progress.Progress,
) -> RollOutBatch:
  """Plays a batch, all of its episodes a step at a time."""
  number, size = map(int, name.split(':'))
  rollouts = RollOuts(size, config.gamma, config.own_limit, config.horizon)
  done, fields = _num_episodes(earlier), _fields(earlier)
  for share in play(config, policy, size, rollouts, number):
    bar.update(done + int(share * size), **fields)
  return rollouts.batch()


def play(
    config: RollOutConfig,
    policy: tf_policy.TFPolicy,
    num_episodes: int,
    observer: Callable[[tuple], None],
    number: int = 0,
    num_processes: int = 0,
) -> Iterator[float]:
  """Plays a batch of episodes, all of them a step at a time.

  Args:
    config: what is rolled out.
    policy: with its noise.
    num_episodes: B, the size of the batch.
    observer: is given each step of the batch, also of episodes that have
      ended: time steps before and after it, and the policy's step between.
    number: of the batch; each has a seed of its own.
    num_processes: that step the environments; 0: as many as are worth it.

  Yields:
    The share that is played, after each step of the batch.
  """
  seed = _batch_seed(config.seed, number)
  num_processes = num_processes or free_cores.num_processes(
      config.env_id, num_episodes, config.num_steps
  )
  env = environments.load_batch(
      config.env_id,
      num_episodes,
      seed,
      max_episode_steps=config.num_steps,
      single_episode=True,
      num_processes=num_processes,
  )
  py_policy = seeded.SeededPyPolicy(policy, num_episodes, seed)
  driver = py_driver.PyDriver(
      env, py_policy, [], transition_observers=[observer], max_steps=1
  )
  try:
    time_step, state = env.reset(), py_policy.get_initial_state(num_episodes)
    # One step of the batch at a time: it ends when the last episode does.
    for step in range(config.num_steps):
      time_step, state = driver.run(time_step, state)
      yield (step + 1) / config.num_steps
      if env.all_ended:
        break
  finally:
    env.close()


def _batch_seed(seed: int, number: int) -> int:
  """Returns the seed of a batch; that of the first is near the seed itself."""
  seed += _SEED_OFFSET
  if not number:
    return seed
  return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


def _summary(config, batches, wanted: float | None) -> results.PolicyValue:
  values = _values(batches)  # [N]
  occupancies, returns, lengths = (
      np.concatenate([getattr(batch, name) for batch in batches])
      for name in ('occupancies', 'returns', 'lengths')
  )  # [N] each
  return results.PolicyValue(
      value=float(values.mean()),
      standard_error=_standard_error(values),
      mean_return=float(returns.mean()),
      std_return=_deviation(returns),
      mean_length=float(lengths.mean()),
      occupancy=float(occupancies.mean()),
      num_episodes=len(values),
      gamma=config.gamma,
      horizon=config.num_steps,
      wanted_error=wanted,
  )


def _num_episodes(batches: Sequence[RollOutBatch]) -> int:
  return sum(len(batch.values) for batch in batches)


def _values(batches: Sequence[RollOutBatch]) -> np.ndarray:
  return np.concatenate([batch.values for batch in batches])  # [N]


def _deviation(values: np.ndarray) -> float:
  return float(values.std(ddof=1)) if len(values) > 1 else float('nan')


def _standard_error(values: np.ndarray) -> float:
  return _deviation(values) / math.sqrt(len(values))
