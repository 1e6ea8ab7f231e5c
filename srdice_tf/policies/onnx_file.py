"""Policies from .onnx files, run by onnxruntime, an extra of the package.

A network takes observations [B, ...] and has one output; what it means is said
in `model_policies`.
"""

import importlib

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.policies import model_policies
from srdice_tf.policies import policy_requests
from srdice_tf.policies import user_functions

_TYPES = {
    'tensor(float)': np.float32,
    'tensor(double)': np.float64,
    'tensor(int32)': np.int32,
    'tensor(int64)': np.int64,
    'tensor(uint8)': np.uint8,
}


def load(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """Returns the policy of a network.

  Raises:
    UserError: if onnxruntime is not installed, or the file cannot be read or
      does not fit the specs.
  """
  checksum = model_policies.checksum(request.name)
  session = _session(request)
  inputs = {x.name: _sizes(x.shape) for x in session.get_inputs()}
  model_policies.check_inputs(request, inputs)
  outputs = [x.name for x in session.get_outputs()]
  if len(outputs) != 1:
    raise errors.at(
        request.source,
        f'it has {len(outputs)} outputs, {", ".join(outputs)}',
        'expected one, the actions, logits or probabilities: export the actor'
        ' alone',
    )
  (argument,), (result,) = session.get_inputs(), session.get_outputs()
  types = _type(request, argument), _type(request, result)

  def run(observations: np.ndarray) -> np.ndarray:
    feed = {argument.name: observations.astype(types[0])}
    return session.run(None, feed)[0]

  call = user_functions.in_graph(run, request.source, tf.as_dtype(types[1]))
  return model_policies.make(request, call, checksum)


def _session(request: policy_requests.Request):
  try:
    onnxruntime = importlib.import_module('onnxruntime')
  except ImportError:
    raise errors.at(
        request.source,
        'onnxruntime is not installed',
        commands.install('onnx'),
    ) from None
  options = onnxruntime.SessionOptions()
  options.log_severity_level = 4  # Errors are raised.
  try:
    return onnxruntime.InferenceSession(
        request.name, options, providers=['CPUExecutionProvider']
    )
  except Exception as error:  # Its errors have no common class.
    reason = ' '.join(str(error).split())
    raise errors.at(
        request.source,
        f'cannot be read: {reason[:300].rstrip(".")}',
        'expected an ONNX file',
    ) from error


def _sizes(shape) -> list[int | None]:
  """Returns the sizes, None for those that have a name or none."""
  return [size if isinstance(size, int) else None for size in shape or ()]


def _type(request: policy_requests.Request, value):
  if value.type not in _TYPES:
    raise errors.at(
        request.source,
        f'{value.name} is a {value.type}',
        f'expected one of {", ".join(_TYPES)}',
    )
  return _TYPES[value.type]
