"""One gymnasium environment as a TF-Agents PyEnvironment."""

import gymnasium
from gymnasium import spaces
import numpy as np
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.environments import seeded_episodes


def observation_spec(space: spaces.Space, env_id: str, channels_last: bool):
  """Returns the array spec of a gymnasium observation space.

  Discrete ones are numbered from 0, wherever the space begins. Whole numbers
  become floats, except in pictures.
  """
  if isinstance(space, spaces.Discrete):
    return array_spec.BoundedArraySpec(
        (), np.int64, 0, space.n - 1, name='observation'
    )
  if isinstance(space, spaces.Box):
    shape = space.shape
    dtype = seeded_episodes.observation_dtype(space)
    if channels_last:
      shape = (*shape[1:], shape[0])
      return array_spec.BoundedArraySpec(shape, dtype, 0, 255, 'observation')
    return array_spec.ArraySpec(shape, dtype, name='observation')
  raise errors.UserError(
      'env',
      env_id,
      f'observations of {type(space).__name__} are not supported; expected Box'
      ' or Discrete',
  )


def action_spec(space: spaces.Space, env_id: str):
  """Returns the bounded array spec of a gymnasium action space.

  Discrete ones are numbered from 0, wherever the space begins.
  """
  if isinstance(space, spaces.Discrete):
    return array_spec.BoundedArraySpec(
        (), np.int64, 0, space.n - 1, name='action'
    )
  is_float = np.issubdtype(space.dtype, np.floating)
  if isinstance(space, spaces.Box) and len(space.shape) == 1 and is_float:
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
      raise errors.UserError(
          'env',
          env_id,
          'the action bounds are infinite; noise is scaled by the bound, so it'
          ' must be finite',
      )
    return array_spec.BoundedArraySpec(
        space.shape, np.float32, space.low, space.high, name='action'
    )
  raise errors.UserError(
      'env',
      env_id,
      f'actions of {space} are not supported; expected a one-dimensional Box of'
      ' floats or Discrete',
  )


class GymnasiumEnvironment(
    seeded_episodes.SeededEpisodes, py_environment.PyEnvironment
):
  """A gymnasium environment with TF-Agents' specs and time steps."""

  def __init__(self, env: gymnasium.Env, seed: int, frame_stack: int = 0):
    """Wraps `env`; see SeededEpisodes."""
    seeded_episodes.SeededEpisodes.__init__(self, env, seed, frame_stack)
    self._observation_spec = observation_spec(
        env.observation_space, self.env_id, channels_last=frame_stack > 0
    )
    self._action_spec = action_spec(env.action_space, self.env_id)
    py_environment.PyEnvironment.__init__(self, handle_auto_reset=True)

  def observation_spec(self):
    return self._observation_spec

  def action_spec(self):
    return self._action_spec

  def _reset(self):
    return ts.restart(self.begin())

  def _step(self, action):
    observation, reward, discount, last = self.advance(action)
    step_type = ts.StepType.LAST if last else ts.StepType.MID
    return ts.TimeStep(
        step_type=np.asarray(step_type, np.int32),
        reward=np.asarray(reward, np.float32),
        discount=np.asarray(discount, np.float32),
        observation=observation,
    )
