"""What TensorBoard shows: numbers over steps, distributions, settings."""

from collections.abc import Mapping
import os

import numpy as np
from tensorboard.plugins.hparams import api as hparams
import tensorflow as tf

_MOST_VALUES = 50_000  # Of a histogram, which needs 240 bytes for each.


class TensorBoard:
  """Writes event files into a directory."""

  def __init__(self, directory: str):
    # A path that cannot be would be TensorFlow's error at the first value.
    os.makedirs(directory, exist_ok=True)
    self._writer = tf.summary.create_file_writer(directory)

  def write(self, step: int, scalars: Mapping[str, float]):
    with self._writer.as_default(step=step):  # Flushes at its end.
      for name, value in scalars.items():
        tf.summary.scalar(name, value)

  def histogram(self, step: int, name: str, values):
    """Shows the distribution of those of the values that are finite.

    Args:
      step: at which it is shown.
      name: of the values.
      values: [n], an array or a tensor; of very many, every k-th is taken.
    """
    values = np.asarray(values, np.float64)  # [n]
    values = values[:: max(1, -(-values.size // _MOST_VALUES))]
    with self._writer.as_default(step=step):
      tf.summary.histogram(name, values[np.isfinite(values)])

  def settings(
      self, values: Mapping[str, float | str | bool], name: str | None = None
  ):
    """Adds a line to TensorBoard's table of runs (HParams).

    Args:
      values: the settings of the run, by name.
      name: of the run; default: its directory's, relative to the log's.
    """
    with self._writer.as_default(step=0):
      hparams.hparams(dict(values), trial_id=name)

  def close(self):
    self._writer.close()
