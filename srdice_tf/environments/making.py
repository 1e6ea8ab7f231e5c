"""Makes gymnasium environments by their id.

Without TensorFlow, so that a process that only steps environments starts soon.
"""

import difflib
import importlib
import warnings

import gymnasium
import mujoco

from srdice_tf import errors
from srdice_tf.environments import atari
from srdice_tf.environments import corridor
from srdice_tf.environments import finite_mdps
from srdice_tf.environments import user_code

# The paper's Ant observes contact forces: 111 numbers, where v4 gives 27.
ARGUMENTS = {'Ant-v4': {'use_contact_forces': True}}

PIXEL_CORRIDOR = 'PixelCorridor'


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


def has_frames(env_id: str) -> bool:
  """Returns whether the environment is observed as stacks of frames."""
  return atari.is_atari(env_id) or env_id == PIXEL_CORRIDOR


def frame_stack(env_id: str) -> int:
  """Returns how many frames an observation has; 0 if it has none."""
  return atari.FRAME_STACK if has_frames(env_id) else 0


def seed_of(seed: int, number: int) -> int:
  """Returns the seed of an environment of a batch."""
  return seed * 1_000_003 + number


def spec_of(env_id: str) -> gymnasium.envs.registration.EnvSpec:
  """Returns what gymnasium knows of an environment.

  Raises:
    UserError: if there is no such environment.
  """
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


def make(env_id: str, max_episode_steps: int | None = None) -> gymnasium.Env:
  """Returns the environment, as the paper has it.

  Args:
    env_id: see `suite.load`.
    max_episode_steps: replaces the environment's own time limit.

  Raises:
    UserError: if there is no such environment or it cannot be made.
  """
  spec_of(env_id)
  try:
    if atari.is_atari(env_id):
      return atari.make(env_id, max_episode_steps)
    if env_id == PIXEL_CORRIDOR:
      return corridor.make(max_episode_steps)
    env = gymnasium.make(
        env_id,
        max_episode_steps=max_episode_steps,
        disable_env_checker=True,
        **ARGUMENTS.get(env_id, {}),
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
