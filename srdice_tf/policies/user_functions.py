"""Calls Python code of users within TensorFlow's graphs.

What the code raises becomes one line with the traceback below it, if the graph
is called in `action_checks.one_line`.
"""

from collections.abc import Callable
from collections.abc import Sequence
import traceback

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.policies import action_checks


def in_graph(
    function: Callable[[np.ndarray], np.ndarray],
    source: str,
    dtype: tf.DType,
    shape: Sequence[int] | None = None,
) -> Callable[[tf.Tensor], tf.Tensor]:
  """Returns the function as one of tensors.

  Args:
    function: from observations [B, ...], its own copy, to outputs [B, *shape].
    source: what errors call it.
    dtype: of the outputs.
    shape: of the outputs of one observation, if it is known.
  """

  def guarded(observations: np.ndarray) -> np.ndarray:
    try:
      outputs = function(np.array(observations))
    except errors.UserError as error:
      raise action_checks.failure(error) from error
    except (Exception, SystemExit) as error:
      raise action_checks.failure(failed(source, error)) from error
    return np.asarray(outputs, dtype.as_numpy_dtype)

  def call(observations: tf.Tensor) -> tf.Tensor:
    outputs = tf.numpy_function(guarded, [observations], dtype)
    if shape is not None:
      outputs.set_shape([observations.shape[0], *shape])
    return outputs

  return call


def failed(source: str, error: BaseException) -> errors.UserCodeError:
  """Returns the error of code of the user, called by the one who catches it."""
  text = ' '.join(str(error).split())
  line = f'{type(error).__name__}: {text}' if text else type(error).__name__
  trace = error.__traceback__ and error.__traceback__.tb_next
  details = traceback.format_exception(type(error), error, trace)
  return errors.UserCodeError(
      f'{source}: it failed: {line.rstrip(".")}.', ''.join(details).rstrip()
  )
