"""Raises an error for actions that are not finite or out of range."""

import contextlib
import re

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.policies import base

# Mark our line in TensorFlow's message about a failed assertion.
_BEGIN, _END = '<line>', '</line>'


def name_of(policy) -> str:
  """Returns what errors call a policy: what the user called it, or its kind."""
  while True:
    if getattr(policy, 'source', ''):
      return policy.source
    inner = getattr(policy, 'wrapped', None)
    if inner is None:
      return f'policy {type(policy).__name__}'
    policy = inner


def check(actions: np.ndarray, spec, source: str):
  """Checks actions [B, ...] that a policy gave.

  Raises:
    UserCodeError: naming the first one that is NaN or out of the range.
  """
  if base.is_discrete(spec):
    wrong = (actions < spec.minimum) | (actions > spec.maximum)
    expected = f'expected from {spec.minimum} to {spec.maximum}'
  else:
    wrong = ~np.isfinite(actions)
    expected = 'expected finite numbers, not NaN or infinite ones'
  if wrong.any():
    wrong = wrong.reshape(len(actions), -1).any(axis=1)
    raise errors.UserCodeError(
        f'{source}: gave the action {actions[wrong][0]} in {wrong.sum()} of'
        f' {len(wrong)} states; {expected}.'
    )


def in_range(actions: tf.Tensor, spec, source: str) -> tf.Tensor:
  """Returns discrete actions; the graph fails if one is out of range.

  Call the graph in `one_line`.
  """
  fits = (actions >= spec.minimum) & (actions <= spec.maximum)  # [B]
  first = tf.gather(actions, tf.argmin(tf.cast(fits, tf.int32)))  # []
  line = tf.strings.join([
      f'{_BEGIN}{source}: gave the action ',
      tf.strings.as_string(first),
      f'; expected from {spec.minimum} to {spec.maximum}.{_END}',
  ])
  with tf.control_dependencies(
      [tf.debugging.Assert(tf.reduce_all(fits), [line])]
  ):
    return tf.identity(actions)


@contextlib.contextmanager
def one_line():
  """Turns the failure of `in_range` in a graph into one line.

  Raises:
    UserCodeError: if it failed.
  """
  try:
    yield
  except tf.errors.InvalidArgumentError as error:
    found = re.search(f'{_BEGIN}(.*?){_END}', str(error))
    if found is None:
      raise
    raise errors.UserCodeError(found[1]) from error
