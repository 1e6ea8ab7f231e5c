"""Policies that are Python functions of the user: module:function.

The function takes states [B, ...], a numpy array, and returns actions [B, A],
discrete ones as whole numbers [B] or as probabilities [B, N]. It must not draw:
what is random belongs into the probabilities.
"""

from collections.abc import Callable
import hashlib
import importlib
import inspect
import re

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec

from srdice_tf import errors
from srdice_tf.policies import action_checks
from srdice_tf.policies import base
from srdice_tf.policies import model_policies
from srdice_tf.policies import policy_requests
from srdice_tf.policies import user_functions

_NAME = re.compile(r'[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*')
_Policy = Callable[[np.ndarray], np.ndarray]


def fits(name: str) -> bool:
  """Returns whether it has the form module:function."""
  return _NAME.fullmatch(name) is not None


def load(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """Returns the policy of module:function.

  Raises:
    UserError: if there is no such function.
  """
  return make(request, _find(request))


def make(
    request: policy_requests.Request, function: _Policy
) -> tf_policy.TFPolicy:
  """Returns the policy of a function, which is checked whenever it is called.

  Raises:
    UserError: if it gives other actions than are asked for.
  """
  if request.is_discrete and not request.bounds_known:
    request = _with_own_actions(request, function)
  checked = _Checked(request, function)
  spec = tensor_spec.from_spec(request.specs[1])
  shape = [request.num_actions] if request.is_discrete else spec.shape
  call = user_functions.in_graph(
      checked, request.source, tf.float32, shape
  )
  checksum = _checksum(function)
  if request.is_discrete:
    return model_policies.ChoiceModel(request, call, checksum)
  return model_policies.ActionModel(request, call, checksum)


class _Checked:
  """The function, giving actions [B, A] or probabilities [B, N]."""

  def __init__(self, request: policy_requests.Request, function: _Policy):
    self._request = request
    self._function = function
    self._is_first_call = True

  def __call__(self, states: np.ndarray) -> np.ndarray:
    found = self._call(states)
    if self._is_first_call and len(states):
      again = self._call(states)
      if not np.array_equal(found, again):
        raise errors.at(
            self._request.source,
            'it gives other actions when it is called again with the same'
            f' states, such as {found[0]} and {again[0]}',
            'expected a function that does not draw; for discrete actions it'
            ' may return probabilities',
        )
      self._is_first_call = False
    return found

  def _call(self, states: np.ndarray) -> np.ndarray:
    try:
      found = np.asarray(self._function(states.copy()))
    except (Exception, SystemExit) as error:
      raise user_functions.failed(self._request.source, error) from error
    spec = self._request.specs[1]
    if not self._request.is_discrete:
      self._check_form(found, 'fiu', (len(states), *spec.shape))
      found = found.astype(np.float32)  # [B, A]
    elif found.dtype.kind in 'iu':
      self._check_form(found, 'iu', (len(states),))
    else:
      size = self._request.num_actions
      self._check_form(found, 'f', (len(states), size))
      self._check_probabilities(found)
      return found  # [B, N]
    action_checks.check(found, spec, self._request.source)
    if self._request.is_discrete:
      return np.eye(self._request.num_actions)[found]  # [B, N]
    return found

  def _check_form(self, found: np.ndarray, kinds: str, shape: tuple):
    if found.dtype.kind in kinds and found.shape == shape:
      return
    request, num_states = self._request, shape[0]
    expected = f'{base.describe(request.specs[1])} actions as {list(shape)}'
    if request.is_discrete:
      expected = (
          f'whole numbers [{num_states}] or probabilities'
          f' [{num_states}, {request.num_actions}]'
      )
    raise errors.at(
        request.source,
        f'for {num_states} states it gave {found.dtype}{list(found.shape)}',
        f'expected {expected}',
    )

  def _check_probabilities(self, found: np.ndarray):
    sums = found.sum(axis=1)  # [B]
    is_one = np.isclose(sums, 1.0, rtol=0.0, atol=1e-3)  # Not if it is NaN.
    wrong = ~is_one | (found < 0.0).any(axis=1)  # [B]
    if wrong.any():
      raise errors.at(
          self._request.source,
          f'gave {found[wrong][0]} in {wrong.sum()} of {len(wrong)} states',
          'expected probabilities, which sum to 1',
      )


def _find(request: policy_requests.Request) -> _Policy:
  module_name, _, name = request.name.partition(':')
  try:
    module = importlib.import_module(module_name)
  except ModuleNotFoundError as error:
    if error.name is None or not module_name.startswith(error.name):
      raise user_functions.failed(request.source, error) from error
    raise errors.at(
        request.source,
        f'Python finds no module {error.name}',
        'expected one that is installed or in a directory of PYTHONPATH',
    ) from error
  except (Exception, SystemExit) as error:
    raise user_functions.failed(request.source, error) from error
  function = getattr(module, name, None)
  if not callable(function):
    found = 'is not one' if hasattr(module, name) else 'is not there'
    place = getattr(module, '__file__', module_name)
    raise errors.at(
        request.source,
        f'{name} {found}',
        f'expected a function in {place}',
    )
  return function


def _with_own_actions(request: policy_requests.Request, function: _Policy):
  """Returns the request with as many actions as it has probabilities for."""
  spec = request.specs[0]
  states = np.zeros((1, *spec.shape), tf.as_dtype(spec.dtype).as_numpy_dtype)
  try:
    found = np.asarray(function(states))
  except (Exception, SystemExit):  # It need not know this state.
    return request
  if found.ndim != 2 or found.dtype.kind != 'f':
    return request
  return request.with_num_actions(found.shape[1])


def _checksum(function: _Policy) -> str:
  """Returns a hash of the name and the file; not of what the file imports."""
  name = getattr(function, '__qualname__', type(function).__qualname__)
  digest = hashlib.sha256(name.encode())
  try:
    path = inspect.getsourcefile(inspect.unwrap(function))
  except TypeError:  # An object with __call__.
    path = inspect.getsourcefile(type(function))
  if path is not None:
    digest.update(model_policies.checksum(path).encode())
  return digest.hexdigest()
