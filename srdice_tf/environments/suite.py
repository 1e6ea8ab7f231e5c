"""Loads environments by their id."""

from collections.abc import Callable
from collections.abc import Iterable

from srdice_tf.environments import atari
from srdice_tf.environments import batched
from srdice_tf.environments import gymnasium_env
from srdice_tf.environments import making
from srdice_tf.environments import part_process
from srdice_tf.environments import split_batch

has_frames = making.has_frames

CONTINUOUS_TASKS = (
    'Pendulum-v1',
    'Reacher-v4',
    'HalfCheetah-v4',
    'Hopper-v4',
    'Walker2d-v4',
    'Ant-v4',
    'Humanoid-v4',
)


def load(
    env_id: str, seed: int = 0, max_episode_steps: int | None = None
) -> gymnasium_env.GymnasiumEnvironment:
  """Returns the environment `env_id`, one episode at a time.

  Args:
    env_id: any gymnasium id with Box or Discrete actions, also with the module
      that registers it ('module:Name-v0'); 'ALE/...' ids get the paper's
      pre-processing; the finite MDPs 'FiveStateChain', 'GridWalk' and
      'RandomMDP-<states>-<actions>-<branching>-<seed>'; 'PixelCorridor'.
    seed: of the episodes; the same seed gives the same run.
    max_episode_steps: replaces the environment's own time limit.

  Raises:
    UserError: if there is no such environment or it cannot be used.
  """
  env = making.make(env_id, max_episode_steps)
  return gymnasium_env.GymnasiumEnvironment(
      env, seed, making.frame_stack(env_id)
  )


def load_batch(
    env_id: str,
    num_envs: int,
    seed: int = 0,
    max_episode_steps: int | None = None,
    single_episode: bool = False,
    count: Callable[[int], Iterable[int]] = range,
    num_processes: int = 1,
) -> batched.BatchedEnvironment | split_batch.SplitBatch:
  """Returns `num_envs` environments that step together, seeded apart.

  Args:
    env_id: of each.
    num_envs: how many.
    seed: of all of them.
    max_episode_steps: replaces the environment's own time limit.
    single_episode: whether each stays at the end of its first episode.
    count: counts them while they are made, if all are made in this process.
    num_processes: that step them, this one among them; no number depends on it.
      It is one where others cannot make the environment, such as one that a
      script without a name has registered.
  """

  def load_one(number: int) -> gymnasium_env.GymnasiumEnvironment:
    return load(env_id, making.seed_of(seed, number), max_episode_steps)

  if num_processes > 1:
    wanted = part_process.Wanted(
        env_id, seed, max_episode_steps, single_episode
    )
    try:
      return split_batch.SplitBatch(load_one, wanted, num_envs, num_processes)
    except split_batch.CannotBeSplitError:
      pass
  return batched.BatchedEnvironment(
      [load_one(number) for number in count(num_envs)], single_episode
  )


def description(env_id: str) -> dict:
  """Returns the settings that data of the environment depend on."""
  if atari.is_atari(env_id):
    return {'id': env_id, **atari.preprocessing()}
  return {'id': env_id, **making.ARGUMENTS.get(env_id, {})}


def time_limit(env_id: str) -> int | None:
  """Returns the environment's own limit on the steps of an episode."""
  if atari.is_atari(env_id):
    return atari.MAX_AGENT_STEPS
  return making.spec_of(env_id).max_episode_steps
