"""All observations of a data set, each once in memory."""

import numpy as np
import tensorflow as tf

from srdice_tf import memory


class Observations:
  """Observations in the order of time, or the frames that are stacked.

  Attributes:
    rows: [R, ...] observations, or frames [R, H, W].
    frame_stack: K, frames in an observation; 0 if a row is an observation.
    ages: [R] int32, steps since the start of the row's episode.
  """

  def __init__(self, rows: np.ndarray, ages: np.ndarray, frame_stack: int):
    """Keeps the rows, without a copy if they are aligned.

    Args:
      rows: [R, ...].
      ages: [R] steps since the start of the row's episode.
      frame_stack: K, or 0.
    """
    self.rows = memory.as_tensor(rows)
    self.frame_stack = frame_stack
    self.ages = tf.constant(ages, tf.int32)  # [R]

  def at(self, positions: tf.Tensor) -> tf.Tensor:
    """Returns the observations at rows [B]: [B, ...], or [B, H, W, K]."""
    if not self.frame_stack:
      return tf.gather(self.rows, positions)  # [B, ...]
    back = tf.range(self.frame_stack - 1, -1, -1)  # [K]
    frames = tf.gather(  # [B, K, H, W]
        self.rows, tf.maximum(positions[:, None] - back, 0)
    )
    # Frames from before the episode's start are zeros.
    exists = back <= tf.gather(self.ages, positions)[:, None]  # [B, K]
    frames *= tf.cast(exists, frames.dtype)[:, :, None, None]
    return tf.transpose(frames, [0, 2, 3, 1])  # [B, H, W, K]
