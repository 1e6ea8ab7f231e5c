"""The row: what one environment delivers in one step, as Reverb stores it.

A row is one vector of bytes, because Reverb's cost grows with the number of
columns: first the observation, or only its newest frame, then the step, a
vector of float32 with everything else. Counters in it are exact up to 2^24.

Row k of an environment holds the observation that call k of the policy sees,
and the action and the reward that led to it: a transition is two rows.
"""

import numpy as np
import tensorflow as tf

# Positions in a step; the action's numbers come last.
COLLECTOR, SLOT, CALL, STEP_TYPE, REWARD, DISCOUNT, ACTION = range(7)

FIRST, MID, LAST = 0, 1, 2  # As in TF-Agents.


class Codec:
  """Packs time steps into rows and rows into arrays."""

  def __init__(self, observation_spec, action_spec, frame_stack: int = 0):
    """Makes the codec of an environment.

    Args:
      observation_spec: of the environment.
      action_spec: of the environment.
      frame_stack: frames in an observation, its last dimension; only the
        newest is stored. 0 if an observation is not a stack.
    """
    shape = tuple(observation_spec.shape)
    self.frame_stack = frame_stack
    self._observation_type = tf.as_dtype(observation_spec.dtype)
    self._action_type = tf.as_dtype(action_spec.dtype)
    self._action_shape = tuple(action_spec.shape)
    self._shape = shape[:-1] if frame_stack else shape
    self._num_values = int(np.prod(self._action_shape))
    self._split = int(np.prod(self._shape)) * self._observation_type.size
    self.row_bytes = self._split + 4 * (ACTION + self._num_values)

  def pack(self, collector: int, call: int, time_step, actions=None):
    """Returns the rows [B, bytes] of a batched time step."""
    batch_size = len(time_step.step_type)
    steps = np.zeros((batch_size, ACTION + self._num_values), np.float32)
    steps[:, COLLECTOR] = collector
    steps[:, SLOT] = np.arange(batch_size)
    steps[:, CALL] = call
    steps[:, STEP_TYPE] = time_step.step_type
    steps[:, REWARD] = time_step.reward
    steps[:, DISCOUNT] = time_step.discount
    if actions is not None:
      steps[:, ACTION:] = np.reshape(actions, (batch_size, -1))
    return self.join(self.newest(time_step.observation), steps)

  def join(self, observations: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Returns the rows [N, bytes] of what is stored of them, see above."""
    return np.concatenate([_bytes(observations), _bytes(steps)], axis=1)

  def newest(self, observations: np.ndarray) -> np.ndarray:
    """Returns what is stored of observations: [B, ...], frames [B, H, W]."""
    return observations[..., -1] if self.frame_stack else observations

  def steps(self, rows: np.ndarray) -> np.ndarray:
    """Returns the steps [N, 6 + A] of rows [N, bytes]."""
    return np.ascontiguousarray(rows[:, self._split :]).view(np.float32)

  def observations(self, rows: np.ndarray) -> np.ndarray:
    """Returns the observations [N, ...], or frames [N, H, W], of rows."""
    flat = np.ascontiguousarray(rows[:, : self._split])  # [N, bytes]
    values = flat.view(self._observation_type.as_numpy_dtype)
    return values.reshape(len(rows), *self._shape)

  def actions(self, steps: np.ndarray) -> np.ndarray:
    """Returns the actions [N, A], or [N] if discrete, of steps [N, 6 + A]."""
    values = steps[:, ACTION:].astype(self._action_type.as_numpy_dtype)
    return values.reshape(len(steps), *self._action_shape)


def codec_of(env) -> Codec:
  """Returns the codec of the rows of one of `environments`."""
  specs = env.observation_spec(), env.action_spec()
  return Codec(*specs, env.frame_stack)


def _bytes(values: np.ndarray) -> np.ndarray:
  """Returns values [N, ...] as bytes [N, ?]."""
  values = np.ascontiguousarray(values)
  return values.reshape(len(values), -1).view(np.uint8)
