"""Policies of DOPE, Google's benchmark of off-policy evaluation (.pkl).

A file is a dict of weights: fc0/weight, fc0/bias, fc1/..., last_fc/... and
last_fc_log_std/..., with nonlinearity, relu or tanh, and output_distribution,
tanh_gaussian: tanh of a Gaussian, here scaled to the bounds of the actions. As
in DOPE's own policies in TF-Agents, the logarithm of the standard deviation is
clipped to [-5, 2]. Nothing that the pickle names is called (`array_pickles`).
"""

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.distributions import utils
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step

from srdice_tf import errors
from srdice_tf.policies import array_pickles
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import distributions
from srdice_tf.policies import model_policies
from srdice_tf.policies import policy_requests

_LOG_STD = -5.0, 2.0
_NONLINEARITIES = {'relu': tf.nn.relu, 'tanh': tf.tanh}
_DISTRIBUTION = 'tanh_gaussian'
_MEAN, _SCALE = 'last_fc', 'last_fc_log_std'


class DopePolicy(composed.DistributionPolicy):
  """Draws from a Gaussian, squashed to the bounds of the actions.

  Attributes:
    file_checksum: of the file.
  """

  def __init__(self, request: policy_requests.Request, layers, nonlinearity):
    """Makes the policy.

    Args:
      request: what is asked for.
      layers: weights [in, out] and biases [out] by name, the hidden layers
        first.
      nonlinearity: of the hidden layers.
    """
    super().__init__(*composed.tensor_specs(*request.specs))
    self._layers = {
        name: tuple(tf.constant(part) for part in layer)
        for name, layer in layers.items()
    }
    self._nonlinearity = nonlinearity
    self.source = request.source
    self.file_checksum = model_policies.checksum(request.name)

  def _action(self, time_step, policy_state, seed=None):
    step = super()._action(time_step, policy_state, seed)
    return step._replace(action=distributions.infinite_as_nan(step.action))

  def _distribution(self, time_step, policy_state):
    hidden = time_step.observation  # [B, S]
    for name in self._layers:
      if name not in (_MEAN, _SCALE):
        hidden = self._nonlinearity(self._linear(name, hidden))
    log_std = tf.clip_by_value(self._linear(_SCALE, hidden), *_LOG_STD)
    gaussian = tfp.distributions.MultivariateNormalDiag(
        self._linear(_MEAN, hidden), tf.exp(log_std)
    )
    squashed = utils.SquashToSpecNormal(gaussian, self.action_spec)
    return policy_step.PolicyStep(squashed, policy_state)

  def _linear(self, name: str, inputs: tf.Tensor) -> tf.Tensor:
    weight, bias = self._layers[name]
    return tf.matmul(inputs, weight) + bias  # [B, out]


def load(request: policy_requests.Request) -> DopePolicy:
  """Returns the policy of a file.

  Raises:
    UserError: if it cannot be read, or does not fit the specs.
  """
  _check_specs(request)
  content = _read(request)
  nonlinearity = _text(request, content, 'nonlinearity', _NONLINEARITIES)
  _text(request, content, 'output_distribution', (_DISTRIBUTION,))
  names = []
  while f'fc{len(names)}/weight' in content:
    names.append(f'fc{len(names)}')
  names += [_MEAN, _SCALE]
  layers = {
      name: tuple(
          _numbers(request, content, f'{name}/{part}', rank)
          for part, rank in (('weight', 2), ('bias', 1))
      )
      for name in names
  }
  if not request.bounds_known:  # Those of tanh.
    spec = tensor_spec.from_spec(request.specs[1])
    own = tensor_spec.BoundedTensorSpec(
        spec.shape, spec.dtype, -1.0, 1.0, 'action'
    )
    request = request._replace(specs=(request.specs[0], own))
  layers = _oriented(request, layers)
  return DopePolicy(request, layers, _NONLINEARITIES[nonlinearity])


def _check_specs(request: policy_requests.Request):
  for spec in request.specs:
    if len(spec.shape) != 1 or base.is_discrete(spec):
      raise errors.at(
          request.source,
          f'policies of DOPE are for vectors; the {request.owner} has'
          f' {base.describe(request.specs[0])} observations and'
          f' {base.describe(request.specs[1])} actions',
      )


def _read(request: policy_requests.Request) -> dict:
  try:
    with open(request.name, 'rb') as file:
      content = array_pickles.load(file)
    if not isinstance(content, dict):
      raise ValueError(f'there is a {type(content).__name__}')
  except Exception as error:  # What damage raises depends on where it is.
    reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.at(
        request.source,
        f'cannot be read: {reason[:300].rstrip(".")}',
        'expected a pickle of a dict of numpy arrays, as DOPE has them',
    ) from error
  return content


def _entry(request: policy_requests.Request, content: dict, key: str):
  if key not in content:
    found = ', '.join(map(str, list(content)[:12])) or 'nothing'
    raise errors.at(
        request.source, f'there is no {key}, only {found}',
        'expected the weights of a policy of DOPE',
    )
  return content[key]


def _text(request, content: dict, key: str, allowed) -> str:
  value = _entry(request, content, key)
  if isinstance(value, np.ndarray) and not value.shape:
    value = value.item()
  value = value.decode('latin1') if isinstance(value, bytes) else value
  if not isinstance(value, str) or value not in allowed:
    raise errors.at(
        request.source,
        f'{key} is {value!r:.60}',
        f'expected {" or ".join(allowed)}',
    )
  return value


def _numbers(request, content: dict, key: str, rank: int) -> np.ndarray:
  value = _entry(request, content, key)
  is_array = isinstance(value, np.ndarray) and value.dtype.kind == 'f'
  if not is_array or value.ndim != rank:
    found = type(value).__name__
    if isinstance(value, np.ndarray):
      found = f'{value.dtype}{list(value.shape)}'
    raise errors.at(
        request.source, f'{key} is {found}', f'expected floats of rank {rank}'
    )
  if not np.isfinite(value).all():
    raise errors.at(
        request.source, f'{key} has values that are NaN or infinite'
    )
  return value.astype(np.float32)


def _oriented(request: policy_requests.Request, layers: dict) -> dict:
  """Returns the layers with weights [in, out].

  DOPE has [out, in]. All weights of a file have the same order, so those that
  are no square tell it.
  """
  (num_inputs,), (num_actions,) = (tuple(spec.shape) for spec in request.specs)
  expected = {}
  for name, (_, bias) in layers.items():
    expected[name] = num_inputs, len(bias)
    if name not in (_MEAN, _SCALE):
      num_inputs = len(bias)
  fits = all(len(layers[name][1]) == num_actions for name in (_MEAN, _SCALE))
  for turn in (np.transpose, np.array):
    turned = {name: turn(weight) for name, (weight, _) in layers.items()}
    if fits and all(turned[n].shape == expected[n] for n in layers):
      return {name: (turned[name], layers[name][1]) for name in layers}
  shapes = [weight.shape for weight, _ in layers.values()]
  raise errors.at(
      request.source,
      f'its weights of shapes {shapes} do not take'
      f' {request.specs[0].shape[0]} observations to {num_actions} actions, as'
      f' the {request.owner} has them',
  )
