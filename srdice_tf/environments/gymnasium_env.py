"""One gymnasium environment behind TF-Agents' PyEnvironment."""

import math

import gymnasium
from gymnasium import spaces
import numpy as np
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors


def observation_spec(space: spaces.Space, env_id: str, channels_last: bool):
  """Returns the array spec of a gymnasium observation space."""
  if isinstance(space, spaces.Discrete):
    return array_spec.BoundedArraySpec(
        (), np.int64, 0, space.n - 1, name='observation'
    )
  if isinstance(space, spaces.Box):
    is_integer = np.issubdtype(space.dtype, np.integer)
    dtype = space.dtype if is_integer else np.dtype(np.float32)
    shape = space.shape
    if channels_last:
      shape = (*shape[1:], shape[0])
      return array_spec.BoundedArraySpec(shape, dtype, 0, 255, 'observation')
    return array_spec.ArraySpec(shape, dtype, name='observation')
  raise errors.UserError(
      f'--env={env_id}: observations of {type(space).__name__} are not'
      ' supported; expected Box or Discrete.'
  )


def action_spec(space: spaces.Space, env_id: str):
  """Returns the bounded array spec of a gymnasium action space."""
  if isinstance(space, spaces.Discrete):
    return array_spec.BoundedArraySpec(
        (), np.int64, 0, space.n - 1, name='action'
    )
  if isinstance(space, spaces.Box) and len(space.shape) == 1:
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
      raise errors.UserError(
          f'--env={env_id}: the action bounds are infinite; noise is scaled by'
          ' the bound, so it must be finite.'
      )
    return array_spec.BoundedArraySpec(
        space.shape, np.float32, space.low, space.high, name='action'
    )
  raise errors.UserError(
      f'--env={env_id}: actions of {space} are not supported; expected a'
      ' one-dimensional Box or Discrete.'
  )


class GymnasiumEnvironment(py_environment.PyEnvironment):
  """A gymnasium environment with TF-Agents' specs and time steps.

  Episode k is reset with a seed that depends on (seed, k) only, so that any
  episode can be begun again on its own (`begin(k)`): how an interrupted
  collection gets its environments back.
  """

  def __init__(self, env: gymnasium.Env, seed: int, frame_stack: int = 0):
    """Wraps `env`.

    Args:
      env: the environment; a pixel environment stacks frames itself.
      seed: of the episodes.
      frame_stack: number of frames in an observation [stack, H, W], which
        becomes [H, W, stack]; 0 for environments without a stack.
    """
    self._env = env
    self._env_id = env.spec.id if env.spec else type(env.unwrapped).__name__
    self._seed = seed
    self._episode = -1
    self.frame_stack = frame_stack
    self._observation_spec = observation_spec(
        env.observation_space, self._env_id, channels_last=frame_stack > 0
    )
    self._action_spec = action_spec(env.action_space, self._env_id)
    self._is_discrete = isinstance(env.action_space, spaces.Discrete)
    super().__init__(handle_auto_reset=True)

  @property
  def env_id(self) -> str:
    return self._env_id

  def observation_spec(self):
    return self._observation_spec

  def action_spec(self):
    return self._action_spec

  def begin(self, episode: int | None = None) -> np.ndarray:
    """Starts the next episode, or the one named; returns its observation."""
    self._episode = self._episode + 1 if episode is None else episode
    sequence = np.random.SeedSequence([self._seed, self._episode])
    # The generated word must fit a C int: ALE and Box2D take no more.
    seed = int(sequence.generate_state(1)[0] >> 1)
    return self._observation(self._env.reset(seed=seed)[0])

  def advance(self, action) -> tuple[np.ndarray, float, float, bool]:
    """Steps; returns observation, reward, discount and whether it is last.

    A terminal state has discount 0; a truncated episode keeps discount 1.
    """
    if self._is_discrete:
      action = int(action) + int(self._env.action_space.start)
    observation, reward, terminated, truncated, _ = self._env.step(action)
    if not math.isfinite(reward):
      raise errors.UserError(
          f'--env={self._env_id}: the reward is {reward} in episode'
          f' {self._episode}; the environment must give finite rewards.'
      )
    return (
        self._observation(observation),
        reward,
        0.0 if terminated else 1.0,
        terminated or truncated,
    )

  def _observation(self, observation) -> np.ndarray:
    if self.frame_stack:
      observation = np.moveaxis(observation, 0, -1)
    return np.asarray(observation, self._observation_spec.dtype)

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

  def seed(self, seed: int):
    self._seed = seed
    self._episode = -1

  def close(self):
    self._env.close()
