"""The row: what one environment delivers in one step, as Reverb stores it.

Reverb's cost grows with the number of columns (seven: 5k transitions/s, two:
14k), so a row has two: the observation, or the newest frame of it, and a vector
of float64 with all the rest, in which counters stay exact.

Row k of an environment holds the observation that call k of the policy sees,
and the action and the reward that led to it: a transition is two rows.
"""

import numpy as np

COLLECTOR, SLOT, CALL, STEP_TYPE, REWARD, DISCOUNT = range(6)
ACTION = 6  # And all that follow.

FIRST, MID, LAST = 0, 1, 2  # As in TF-Agents.
# A row that only gives later ones their history: zero frames before the start
# of an episode, or rows repeated after an interruption. Never data.
PADDING = -1


def pack(collector: int, call: int, time_step, actions) -> np.ndarray:
  """Returns the step vectors [B, 6 + A] of a batched time step."""
  step_types = np.asarray(time_step.step_type)
  batch_size = len(step_types)
  actions = np.asarray(actions, np.float64).reshape(batch_size, -1)  # [B, A]
  steps = np.empty((batch_size, ACTION + actions.shape[1]))  # [B, 6 + A]
  steps[:, COLLECTOR] = collector
  steps[:, SLOT] = np.arange(batch_size)
  steps[:, CALL] = call
  steps[:, STEP_TYPE] = step_types
  steps[:, REWARD] = time_step.reward
  steps[:, DISCOUNT] = time_step.discount
  steps[:, ACTION:] = actions
  return steps


def actions_of(steps, action_spec) -> np.ndarray:
  """Returns the actions [N, A], or [N] if discrete, of step vectors."""
  flat = steps[:, ACTION:]  # [N, A]
  shape = (len(steps), *action_spec.shape)
  dtype = action_spec.dtype
  dtype = getattr(dtype, 'as_numpy_dtype', dtype)
  return flat.reshape(shape).astype(dtype)


def newest(observations: np.ndarray, frame_stack: int) -> np.ndarray:
  """Returns what is stored of observations: [B, ...], frames [B, H, W]."""
  return observations[..., -1] if frame_stack else observations
