"""Scalars for TensorBoard."""

import tensorflow as tf


class TensorBoard:
  """Writes event files into a directory, made at the first value."""

  def __init__(self, directory: str):
    self._writer = tf.summary.create_file_writer(directory)

  def write(self, step: int, scalars: dict[str, float]):
    with self._writer.as_default(step=step):
      for name, value in scalars.items():
        tf.summary.scalar(name, value)
    self._writer.flush()

  def close(self):
    self._writer.close()
