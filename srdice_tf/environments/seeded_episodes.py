"""The episodes of one gymnasium environment, each with a seed of its own.

Without TensorFlow, so that a process that only steps environments starts soon.
"""

import hashlib
import math
import operator
import reprlib
import warnings

import gymnasium
from gymnasium import spaces
import numpy as np

from srdice_tf import errors
from srdice_tf.environments import user_code

_LARGEST = float(np.finfo(np.float32).max)


def observation_dtype(space: spaces.Space) -> np.dtype:
  """Returns the type of observations: floats, but in pictures and states."""
  if not isinstance(space, spaces.Box):
    return np.dtype(np.int64)
  is_whole = np.issubdtype(space.dtype, np.integer)
  is_picture = len(space.shape) == 3 and is_whole
  return space.dtype if is_picture else np.dtype(np.float32)


class SeededEpisodes:
  """Starts and steps episodes, and checks what the environment returns.

  Episode k is reset with a seed that depends only on (seed, k), so any episode
  can be started again on its own (`begin(k)`). That is how an interrupted
  collection restores its environments.
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
    self._num_steps = 0
    self._reset_seed = 0
    self.frame_stack = frame_stack
    # Only for discrete actions and observations, else None.
    self._first_action = _first(env.action_space)
    self._first_observation = _first(env.observation_space)
    self._shape = env.observation_space.shape
    self._dtype = observation_dtype(env.observation_space)

  @property
  def env_id(self) -> str:
    return self._env_id

  def begin(self, episode: int | None = None) -> np.ndarray:
    """Starts the next episode, or the one named; returns its observation.

    Raises:
      UserCodeError: if the environment fails.
    """
    self._episode = self._episode + 1 if episode is None else episode
    self._num_steps = 0
    sequence = np.random.SeedSequence([self._seed, self._episode])
    # The seed must fit a C int: ALE and Box2D take nothing larger.
    self._reset_seed = int(sequence.generate_state(1)[0] >> 1)
    try:
      observation, _ = self._env.reset(seed=self._reset_seed)
    except (Exception, SystemExit) as error:
      raise self._raised(error) from error
    return self._observation(observation)

  def advance(self, action) -> tuple[np.ndarray, float, float, bool]:
    """Steps; returns observation, reward, discount and whether it is last.

    A terminal state has discount 0; a truncated episode keeps discount 1.

    Raises:
      UserCodeError: if the environment fails.
    """
    if self._first_action is not None:
      action = int(action) + self._first_action
    self._num_steps += 1
    try:
      observation, reward, terminated, truncated, _ = self._env.step(action)
    except (Exception, SystemExit) as error:
      raise self._raised(error) from error
    if not _is_finite_number(reward):
      found = reprlib.repr(reward)
      raise self._failure(f'the reward is {found}, expected a finite number')
    return (
        self._observation(observation),
        reward,
        0.0 if terminated else 1.0,
        terminated or truncated,
    )

  def trial(self, num_steps: int) -> str:
    """Plays steps of the next episodes, by random actions.

    Returns:
      A checksum, which two processes share if they have the same environment.
    """
    space, rng = self._env.action_space, np.random.default_rng(self._seed)
    digest, last = hashlib.sha256(), True
    for _ in range(num_steps):
      if last:
        digest.update(self.begin().tobytes())
      if self._first_action is None:
        action = rng.uniform(space.low, space.high).astype(np.float32)
      else:
        action = rng.integers(space.n)
      observation, *numbers, last = self.advance(action)
      digest.update(observation.tobytes())
      digest.update(np.array(numbers, np.float64).tobytes())
    return digest.hexdigest()

  def _observation(self, observation) -> np.ndarray:
    if self._first_observation is not None:
      return self._state(observation)
    try:
      observation = np.asarray(observation)
    except ValueError as error:  # Rows of different lengths.
      raise self._raised(error) from error
    if observation.shape != self._shape:
      raise self._failure(
          f'the observation has shape {observation.shape}, expected'
          f' {self._shape}'
      )
    dtype = self._dtype
    if dtype != observation.dtype:
      self._check_type(observation, dtype)
      observation = observation.astype(dtype)
    if dtype.kind == 'f' and not _all_finite(observation):
      raise self._failure('the observation has values that are NaN or infinite')
    if self.frame_stack:
      return np.moveaxis(observation, 0, -1)
    return observation

  def _state(self, observation) -> np.ndarray:
    """Returns the number of a discrete observation, from 0."""
    try:
      state = operator.index(observation) - self._first_observation
    except TypeError:
      state = -1
    if not 0 <= state < self._env.observation_space.n:
      raise self._failure(
          f'the observation is {reprlib.repr(observation)}, expected one of'
          f' {self._env.observation_space}'
      )
    return np.asarray(state, np.int64)

  def _check_type(self, observation: np.ndarray, dtype: np.dtype):
    """Raises an error if a conversion would change the values."""
    if dtype.kind == 'f':
      fits = observation.dtype.kind in 'fiub'
    else:
      fits = observation.dtype.kind in 'iu' and np.array_equal(
          observation.astype(dtype), observation
      )
    if not fits:
      raise self._failure(
          f'the observation is of {observation.dtype}, expected {dtype}'
      )

  def _raised(self, error: BaseException) -> errors.UserCodeError:
    """Returns the error for an environment that raised or wanted to exit."""
    details = user_code.traceback_of(error)
    return self._failure(user_code.summary(error), details)

  def _failure(self, what: str, details: str = '') -> errors.UserCodeError:
    where = f'step {self._num_steps}' if self._num_steps else 'its reset'
    return errors.UserCodeError(
        f'env={self._env_id}: episode {self._episode}, {where}: {what} (reset'
        f' with seed {self._reset_seed}).',
        details,
    )

  def seed(self, seed: int):
    self._seed = seed
    self._episode = -1

  def close(self):
    try:
      self._env.close()
    except (Exception, SystemExit) as error:  # Its data are still good.
      what = user_code.summary(error)
      message = f'env={self._env_id}: cannot be closed: {what}'
      warnings.warn(message, stacklevel=2)


def _first(space: spaces.Space) -> int | None:
  return int(space.start) if isinstance(space, spaces.Discrete) else None


def _is_finite_number(reward) -> bool:
  try:
    return math.isfinite(reward) and abs(reward) <= _LARGEST
  except (TypeError, ValueError, OverflowError):  # Of None, texts, arrays.
    return False


def _all_finite(values: np.ndarray) -> bool:
  # The product is faster but can overflow.
  return math.isfinite(np.vdot(values, values)) or np.isfinite(values).all()
