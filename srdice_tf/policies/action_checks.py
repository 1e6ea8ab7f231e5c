"""Raises an error for actions that are not finite or out of range.

Errors in a graph, of its assertions or of Python code in it, reach the caller
as TensorFlow's, with a long message. `one_line` finds ours in it.
"""

import contextlib
import re
import warnings

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.policies import base

# Mark our line in TensorFlow's message about a failed assertion, and what is to
# be shown below the line.
_BEGIN, _END = '<line>', '</line>'
_DETAILS, _DETAILS_END = '<details>', '</details>'
# Actions out of the bounds that nobody need be told of: a share of all, and a
# share of the range.
_FEW, _NEAR = 0.1, 1e-3


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


def warn_outside(actions: np.ndarray, spec, source: str):
  """Warns if many actions [B, A] lie outside of the bounds to clip them to."""
  margin = _NEAR * (spec.maximum - spec.minimum)
  low, high = spec.minimum - margin, spec.maximum + margin
  outside = ((actions < low) | (actions > high)).any(axis=1)  # [B]
  share = outside.mean()
  if share > _FEW:
    warnings.warn(
        f'{source}: {share:.0%} of its actions are outside of'
        f' {np.min(spec.minimum)} to {np.max(spec.maximum)}, such as'
        f' {actions[outside][0]}, and are clipped. Is that their scale?',
        stacklevel=2,
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


def finite(values: tf.Tensor, source: str, what: str) -> tf.Tensor:
  """Returns values [B, ...]; the graph fails if one is NaN or infinite.

  Call the graph in `one_line`.
  """
  line = (
      f'{_BEGIN}{source}: gave {what} that are NaN or infinite; expected finite'
      f' numbers.{_END}'
  )
  is_finite = tf.reduce_all(tf.math.is_finite(values))  # []
  with tf.control_dependencies([tf.debugging.Assert(is_finite, [line])]):
    return tf.identity(values)


def failure(error: errors.UserError) -> ValueError:
  """Returns what to raise in a Python function of a graph, for `one_line`."""
  details = f'{_DETAILS}{error.details}{_DETAILS_END}'
  return ValueError(f'{_BEGIN}{error}{_END}{details}')


@contextlib.contextmanager
def one_line():
  """Turns the failure of an assertion or a function above into one line.

  Raises:
    UserCodeError: if it failed.
  """
  try:
    yield
  # Without a graph, a function's error comes as it is.
  except (tf.errors.InvalidArgumentError, ValueError) as error:
    line = re.search(f'{_BEGIN}(.*?){_END}', str(error))
    if line is None:
      raise
    details = re.search(f'{_DETAILS}(.*?){_DETAILS_END}', str(error), re.DOTALL)
    text = details[1] if details else ''
    raise errors.UserCodeError(line[1], text) from error
