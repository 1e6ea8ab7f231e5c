"""Loads environments by their id."""

from collections.abc import Callable
from collections.abc import Iterable
import difflib
import importlib
import warnings

import gymnasium
import mujoco

from srdice_tf import errors
from srdice_tf.environments import atari
from srdice_tf.environments import batched
from srdice_tf.environments import corridor
from srdice_tf.environments import finite_mdps
from srdice_tf.environments import gymnasium_env
from srdice_tf.environments import split_batch
from srdice_tf.environments import user_code

# The paper's Ant observes contact forces: 111 numbers, where v4 gives 27.
_ARGUMENTS = {'Ant-v4': {'use_contact_forces': True}}

PIXEL_CORRIDOR = 'PixelCorridor'

CONTINUOUS_TASKS = (
    'Pendulum-v1',
    'Reacher-v4',
    'HalfCheetah-v4',
    'Hopper-v4',
    'Walker2d-v4',
    'Ant-v4',
    'Humanoid-v4',
)


def _warn(message: str):
  """Takes MuJoCo's warnings, so that it does not log them to a file."""
  if 'is deprecated' not in message:  # Its own models cause that one.
    warnings.warn(f'MuJoCo: {message}', stacklevel=2)


mujoco.set_mju_user_warning(_warn)
for _id in (finite_mdps.CHAIN, finite_mdps.GRID_WALK):
  finite_mdps.register(_id)
gymnasium.register(
    PIXEL_CORRIDOR,
    entry_point=corridor.Corridor,
    max_episode_steps=corridor.MAX_STEPS,
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
  frame_stack = atari.FRAME_STACK if has_frames(env_id) else 0
  env = _make(env_id, max_episode_steps)
  return gymnasium_env.GymnasiumEnvironment(env, seed, frame_stack)


def has_frames(env_id: str) -> bool:
  """Returns whether the environment is observed as stacks of frames."""
  return atari.is_atari(env_id) or env_id == PIXEL_CORRIDOR


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
  """

  def load_part(numbers: Iterable[int]) -> batched.BatchedEnvironment:
    envs = [
        load(env_id, seed * 1_000_003 + i, max_episode_steps) for i in numbers
    ]
    return batched.BatchedEnvironment(envs, single_episode)

  if num_processes == 1:
    return load_part(count(num_envs))
  return split_batch.SplitBatch(load_part, num_envs, num_processes)


def description(env_id: str) -> dict:
  """Returns the settings that data of the environment depend on."""
  if atari.is_atari(env_id):
    return {'id': env_id, **atari.preprocessing()}
  return {'id': env_id, **_ARGUMENTS.get(env_id, {})}


def time_limit(env_id: str) -> int | None:
  """Returns the environment's own limit on the steps of an episode."""
  if atari.is_atari(env_id):
    return atari.MAX_AGENT_STEPS
  return _spec(env_id).max_episode_steps


def _spec(env_id: str):
  finite_mdps.register(env_id)
  module, _, name = env_id.rpartition(':')
  try:
    if module:
      importlib.import_module(module)
    return gymnasium.spec(name)
  except gymnasium.error.Error as error:
    near = difflib.get_close_matches(
        env_id, gymnasium.registry.keys(), n=3, cutoff=0.5
    )
    hint = f"; similar are {', '.join(near)}" if near else ''
    raise errors.UserError(
        'env', env_id, f'no such environment{hint}'
    ) from error
  except (Exception, SystemExit) as error:  # From the module in the id.
    raise _cannot_be_made(env_id, error) from error


def _make(env_id: str, max_episode_steps: int | None) -> gymnasium.Env:
  _spec(env_id)
  try:
    if atari.is_atari(env_id):
      return atari.make(env_id, max_episode_steps)
    if env_id == PIXEL_CORRIDOR:
      return corridor.make(max_episode_steps)
    env = gymnasium.make(
        env_id,
        max_episode_steps=max_episode_steps,
        disable_env_checker=True,
        **_ARGUMENTS.get(env_id, {}),
    )
    _ = env.observation_space, env.action_space  # Fails if one is missing.
    return env
  except (Exception, SystemExit) as error:
    raise _cannot_be_made(env_id, error) from error


def _cannot_be_made(env_id: str, error: BaseException) -> errors.UserError:
  if isinstance(error, (gymnasium.error.Error, ImportError)):
    reason = str(error).strip().splitlines()[0]
    return errors.UserError('env', env_id, f'cannot be made: {reason}')
  return errors.UserCodeError(
      f'env={env_id}: cannot be made: {user_code.summary(error)}.',
      user_code.traceback_of(error),
  )
