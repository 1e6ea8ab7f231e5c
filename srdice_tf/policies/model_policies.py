"""Policies of users' networks and functions: what their outputs mean.

Continuous actions: the outputs [B, A] are the actions, which are not drawn. If
the bounds are known, actions are clipped to them, with a warning if many are
outside.

Discrete actions: the outputs are whole numbers [B], the actions, or numbers
[B, N], one for each action. The latter are probabilities if a network ends with
a softmax, or if on states made up for the purpose none is negative and they sum
to 1; else logits. The values of a Q network are neither: end it with an argmax.
"""

from collections.abc import Callable
import hashlib

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step

from srdice_tf import errors
from srdice_tf.policies import action_checks
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import distributions
from srdice_tf.policies import policy_requests

_NUM_PROBES = 13
# From observations [B, ...] to outputs, in TensorFlow.
_Function = Callable[[tf.Tensor], tf.Tensor]


class ActionModel(tf_policy.TFPolicy):
  """A function from observations to continuous actions.

  Attributes:
    clips: whether its actions are clipped to the bounds.
    file_checksum: of the file with the function.
  """

  def __init__(
      self,
      request: policy_requests.Request,
      function: _Function,
      file_checksum: str,
  ):
    """Makes the policy.

    Args:
      request: with the specs of the policy.
      function: from observations [B, ...] to actions [B, A].
      file_checksum: of the file with the function.
    """
    self.clips = request.bounds_known
    specs = composed.tensor_specs(*request.specs)
    super().__init__(*specs, clip=self.clips)
    self._function = function
    self.source = request.source
    self.file_checksum = file_checksum

  def unclipped(self, time_step) -> tf.Tensor:
    """Returns what the function gives [B, A]."""
    return self._function(time_step.observation)

  def _action(self, time_step, policy_state, seed=None):
    del seed
    actions = distributions.infinite_as_nan(self.unclipped(time_step))
    return policy_step.PolicyStep(actions, policy_state)


class ChoiceModel(composed.DistributionPolicy):
  """A function from observations to probabilities of discrete actions.

  Attributes:
    file_checksum: of the file with the function.
  """

  def __init__(
      self,
      request: policy_requests.Request,
      function: _Function,
      file_checksum: str,
  ):
    """Makes the policy.

    Args:
      request: with the specs of the policy.
      function: from observations [B, ...] to probabilities [B, N].
      file_checksum: of the file with the function.
    """
    super().__init__(*composed.tensor_specs(*request.specs))
    self._function = function
    self.source = request.source
    self.file_checksum = file_checksum

  def _distribution(self, time_step, policy_state):
    probabilities = action_checks.finite(  # [B, N]
        self._function(time_step.observation), self.source, 'probabilities'
    )
    categorical = tfp.distributions.Categorical(
        probs=probabilities, dtype=self.action_spec.dtype
    )
    return policy_step.PolicyStep(categorical, policy_state)


def make(
    request: policy_requests.Request,
    function: _Function,
    file_checksum: str,
    has_softmax: bool = False,
) -> tf_policy.TFPolicy:
  """Returns the policy of a network.

  Args:
    request: what is asked for.
    function: from observations [B, ...], with their type, to outputs.
    file_checksum: of the network's file.
    has_softmax: whether the network is known to give probabilities.

  Raises:
    UserError: if it cannot be called, or its outputs do not fit.
  """
  outputs = _probe(request, function)
  function = _with_shape(function, outputs.shape[1:])
  if not request.is_discrete:
    expected = [_NUM_PROBES, *request.specs[1].shape]
    if not outputs.dtype.is_floating or list(outputs.shape) != expected:
      raise request.mismatch(
          'outputs', _describe(outputs), base.describe(request.specs[1])
      )
    floats = lambda x: tf.cast(function(x), tf.float32)  # [B, A]
    return ActionModel(request, floats, file_checksum)
  if outputs.dtype.is_integer and outputs.shape.rank == 1:
    return ChoiceModel(request, _one_hot(request, function), file_checksum)
  if outputs.dtype.is_floating and outputs.shape.rank == 2:
    request = request.with_num_actions(outputs.shape[1])
    is_softmax = has_softmax or _are_probabilities(outputs.numpy())
    choices = _probabilities(function, is_softmax)
    return ChoiceModel(request, choices, file_checksum)
  raise errors.at(
      request.source,
      f'its outputs are {_describe(outputs)}, and there are'
      f' {request.num_actions} discrete actions',
      f'expected float32[{request.num_actions}], logits or probabilities, or'
      ' int64[], the action',
  )


def checksum(path: str) -> str:
  """Returns the hash of a file."""
  with open(path, 'rb') as file:
    return hashlib.file_digest(file, 'sha256').hexdigest()


def check_inputs(request: policy_requests.Request, shapes: dict):
  """Checks the inputs of a network.

  Args:
    request: what is asked for.
    shapes: of the inputs by name, with None for what is open: [batch, ...].

  Raises:
    UserError: if they are not one batch of observations.
  """
  if len(shapes) != 1:
    raise errors.at(
        request.source,
        f'it has {len(shapes)} inputs, {", ".join(shapes)}',
        'expected one, the observation; policies that keep a state from step'
        ' to step, as RNNs do, cannot be evaluated',
    )
  (found,) = shapes.values()
  expected = list(request.specs[0].shape)
  fits = len(found) == len(expected) + 1 and all(
      size in (None, wanted) for size, wanted in zip(found[1:], expected)
  )
  if not fits:
    raise request.mismatch('inputs', found, [None, *expected])
  if found[0] is not None:
    raise errors.at(
        request.source,
        f'it is for batches of {found[0]}',
        'expected any size: export it with a dynamic first dimension',
    )


def _probe(request: policy_requests.Request, function: _Function) -> tf.Tensor:
  """Returns the outputs for states that are made up."""
  spec = tensor_spec.from_spec(request.specs[0])
  rng = np.random.default_rng(0)
  shape = [_NUM_PROBES, *spec.shape]
  if spec.dtype.is_integer:
    high = getattr(spec, 'maximum', 0)
    states = rng.integers(0, np.broadcast_to(high, spec.shape) + 1, shape)
  else:
    states = rng.normal(size=shape)
  try:
    with action_checks.one_line():
      outputs = function(tf.constant(states, spec.dtype))
    return tf.convert_to_tensor(outputs)
  except errors.UserError:
    raise
  except Exception as error:  # What a network raises depends on its layers.
    reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.at(
        request.source,
        f'it cannot be called on {base.describe(spec)} observations:'
        f' {reason[:300]}',
    ) from error


def _with_shape(function: _Function, shape) -> _Function:

  def call(observations):
    outputs = function(observations)
    outputs.set_shape([observations.shape[0], *shape])
    return outputs

  return call


def _describe(outputs: tf.Tensor) -> str:
  return f'{outputs.dtype.name}{list(outputs.shape[1:])}'


def _are_probabilities(outputs: np.ndarray) -> bool:
  is_one = np.isclose(outputs.sum(axis=1), 1.0, rtol=0.0, atol=1e-3)
  return bool(is_one.all() and (outputs >= 0.0).all())


def _probabilities(function: _Function, is_softmax: bool) -> _Function:

  def call(observations):
    outputs = tf.cast(function(observations), tf.float32)  # [B, N]
    return outputs if is_softmax else tf.nn.softmax(outputs)

  return call


def _one_hot(
    request: policy_requests.Request, function: _Function
) -> _Function:
  spec, source = tensor_spec.from_spec(request.specs[1]), request.source

  def call(observations):
    actions = tf.cast(function(observations), spec.dtype)  # [B]
    actions = action_checks.in_range(actions, spec, source)
    return tf.one_hot(actions, request.num_actions)  # [B, N]

  return call
