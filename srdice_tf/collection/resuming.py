"""Brings environments, policy and writer to where a collection stopped."""

from collections.abc import Sequence

import numpy as np
from tf_agents.trajectories import time_step as ts

from srdice_tf.environments import batched
from srdice_tf.policies import seeded
from srdice_tf.replay import reader
from srdice_tf.replay import row_codec
from srdice_tf.replay import writers


def start(
    env: batched.BatchedEnvironment,
    policy: seeded.SeededPyPolicy,
    writer: writers.BatchWriter,
    codec: row_codec.Codec,
    streams: Sequence[reader.Stream],
) -> tuple[ts.TimeStep, tuple]:
  """Starts a collection, or continues after the stored rows.

  Args:
    env: the environments, not yet reset.
    policy: the behaviour policy.
    writer: that will store the rows.
    codec: of the rows.
    streams: what is stored, at most one for each environment.

  Returns:
    The time step and the policy state to start the driver with.
  """
  stored_calls = np.full(env.batch_size, -1)
  for stream in streams:
    stored_calls[stream.slot] = stream.steps[-1, row_codec.CALL]
  # A killed collector may have stored more rows of some environments.
  call = int(stored_calls.min())
  if call < 0:
    time_step = env.reset()
    writer.begin(time_step, stored_calls)
    return time_step, policy.get_initial_state(env.batch_size)
  steps = [stream.steps[: call + 1] for stream in streams]
  time_step, firsts = _restore(env, codec, streams, steps)
  policy_state = _replay_policy(env, policy, streams, firsts, call)
  policy.num_calls = call
  writer.resume(call, stored_calls, steps)
  return time_step, policy_state


def _restore(env, codec, streams, steps) -> tuple[ts.TimeStep, np.ndarray]:
  """Plays the unfinished episodes again; also returns where they began."""
  is_first = [own[:, row_codec.STEP_TYPE] == row_codec.FIRST for own in steps]
  firsts = np.asarray([np.flatnonzero(own)[-1] for own in is_first])  # [B]
  time_step = env.restore(
      episodes=[int(own.sum()) - 1 for own in is_first],
      actions=[
          codec.actions(own[first + 1 :])
          for own, first in zip(steps, firsts)
      ],
  )
  reached = codec.newest(time_step.observation)
  for i, stream in enumerate(streams):
    stored = _rows_of(stream, len(steps[i]) - 1, len(steps[i]))[0]
    if not np.array_equal(reached[i], stored):
      # The environment did not repeat itself, so its episode is cut here.
      time_step.step_type[i] = row_codec.LAST
  return time_step, firsts


def _replay_policy(env, policy, streams, firsts, call):
  """Returns the policy state at row `call`, from the rows that led there."""
  state = policy.get_initial_state(env.batch_size)
  if state == ():
    return state
  for row in range(firsts.min(), call):
    # An episode that begins later waits at its first row.
    at = np.maximum(row, firsts)  # [B]
    observations = [
        _observation(stream, first, i, env.frame_stack)
        for stream, first, i in zip(streams, firsts, at)
    ]
    policy.num_calls = row
    step_type = np.where(at == firsts, row_codec.FIRST, row_codec.MID)  # [B]
    time_step = ts.TimeStep(
        step_type=step_type.astype(np.int32),
        reward=np.zeros(env.batch_size, np.float32),
        discount=np.ones(env.batch_size, np.float32),
        observation=np.stack(observations),
    )
    state = policy.action(time_step, state).state
  return state


def _rows_of(stream: reader.Stream, begin: int, end: int) -> np.ndarray:
  """Returns the stored observations of rows begin..end-1."""
  parts, offset = [], 0
  for part in stream.observations:
    low, high = max(begin - offset, 0), min(end - offset, len(part))
    if low < high:
      parts.append(part[low:high])
    offset += len(part)
  return np.concatenate(parts)


def _observation(stream, first: int, row: int, frame_stack: int) -> np.ndarray:
  """Returns the observation at a row of the episode that began at `first`."""
  if not frame_stack:
    return _rows_of(stream, row, row + 1)[0]
  frames = _rows_of(stream, max(first, row - frame_stack + 1), row + 1)
  missing = frame_stack - len(frames)
  frames = np.pad(frames, ((missing, 0), (0, 0), (0, 0)))  # [K, H, W]
  return np.moveaxis(frames, 0, -1)  # [H, W, K]
