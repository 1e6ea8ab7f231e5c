"""Loads the base policy that a user names; KINDS has one line a kind."""

from collections.abc import Callable
import hashlib
import os
from typing import NamedTuple

from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import dope_file
from srdice_tf.policies import keras_file
from srdice_tf.policies import onnx_file
from srdice_tf.policies import policy_requests
from srdice_tf.policies import probability_tables
from srdice_tf.policies import python_function
from srdice_tf.policies import sampled
from srdice_tf.policies import saved
from srdice_tf.policies import target_actions_file
from srdice_tf.policies import weights

PRETRAINED, UNTRAINED, RANDOM = 'pretrained', 'untrained', 'random'


def _random(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """Uniform actions."""
  return composed.UniformPolicy(*request.specs)


def _untrained(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """A network with random weights."""
  return base.deterministic_policy(*request.specs)


def _pretrained(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """The shipped policy, or the checkpoint named after a colon."""
  if not request.env_id:
    raise errors.at(
        request.source,
        'policies are shipped for environments, and none is named',
        "expected the file or directory of a policy, or the environment's name",
    )
  _, colon, checkpoint = request.name.partition(':')
  checkpoint = checkpoint if colon else weights.BEST
  policy = probability_tables.shipped(request.env_id, *request.specs)
  if policy is None:
    network = weights.load_pretrained(
        request.env_id, *request.specs, checkpoint
    )
    return base.deterministic_policy(*request.specs, network)
  if checkpoint != weights.BEST:
    raise errors.at(
        request.source,
        f'{request.env_id} is a finite MDP with one policy of its own',
        f'expected {PRETRAINED}',
    )
  return policy


def _network(request: policy_requests.Request) -> tf_policy.TFPolicy:
  if not request.bounds_known and not request.is_discrete:
    raise errors.at(
        request.source,
        'its actions are scaled to their bounds, which the data do not tell',
        'expected a policy that has its own, such as a SavedModel',
    )
  network = weights.load_network(request.name, *request.specs)
  return base.deterministic_policy(*request.specs, network)


def is_shipped(name: str) -> bool:
  """Returns whether the name is of a policy that comes with the package."""
  return name.partition(':')[0] == PRETRAINED


def _is_function(name: str) -> bool:
  words = PRETRAINED, UNTRAINED, RANDOM
  return name.partition(':')[0] not in words and python_function.fits(name)


def _is_file(extension: str) -> Callable[[str], bool]:
  return lambda name: name.endswith(extension) and os.path.isfile(name)


class Kind(NamedTuple):
  """A kind of policy.

  Attributes:
    text: what messages call it.
    fits: whether a name is of this kind.
    load: returns the policy.
  """

  text: str
  fits: Callable[[str], bool]
  load: Callable[[policy_requests.Request], tf_policy.TFPolicy]


# To add one: a function above and a line here. The first that fits is taken.
KINDS = (
    Kind(PRETRAINED, is_shipped, _pretrained),
    Kind(UNTRAINED, UNTRAINED.__eq__, _untrained),
    Kind(RANDOM, RANDOM.__eq__, _random),
    Kind('a directory of a TF-Agents SavedModel', os.path.isdir, saved.load),
    Kind(
        "a file of the target policy's actions at s' and s0 (.npz)",
        target_actions_file.fits,
        target_actions_file.load,
    ),
    Kind('a file of weights (.npz)', _is_file('.npz'), _network),
    Kind(
        'a file of probabilities (.npy)',
        _is_file('.npy'),
        probability_tables.load,
    ),
    Kind('a Keras model (.keras)', _is_file('.keras'), keras_file.load),
    Kind('an ONNX network (.onnx)', _is_file('.onnx'), onnx_file.load),
    Kind("a policy of DOPE's (.pkl)", _is_file('.pkl'), dope_file.load),
    Kind(
        'a Python function (module:function)',
        _is_function,
        python_function.load,
    ),
)


def load(
    name: str,
    env_id: str,
    observation_spec,
    action_spec,
    field: str = 'policy',
    bounds_known: bool = True,
) -> tf_policy.TFPolicy:
  """Returns a base policy, without the noise of target or behaviour policy.

  Args:
    name: 'pretrained', the one shipped for the environment, or
      'pretrained:weak', ':medium', ':good', earlier ones of the same run, or
      'pretrained:separate', that of another agent; or one of the other KINDS.
    env_id: the environment; '' if there is none, but data only.
    observation_spec: of the environment or the data.
    action_spec: of the environment or the data, bounded.
    field: the setting that names it, for errors.
    bounds_known: whether the bounds of the actions, or their number, are known.
      If not, they are those of the logged actions: a policy with other ones is
      not refused, and its own `action_spec` counts.

  Raises:
    UserError: if there is no such policy, or it does not fit.
  """
  request = policy_requests.Request(
      name,
      env_id,
      (observation_spec, action_spec),
      f'{field}={name}',
      bounds_known,
  )
  kind = next((kind for kind in KINDS if kind.fits(name)), None)
  if kind is None:
    found = 'of no known kind' if os.path.exists(name) else 'no such file'
    expected = ', '.join(kind.text for kind in KINDS)
    raise errors.UserError(field, name, f'{found}; expected one of: {expected}')
  policy = kind.load(request)
  policy.source = request.source  # What errors call it.
  return policy


def behaviour_name(policy: str, setting: str) -> str:
  """Returns the name of the base policy that makes the data by default.

  Args:
    policy: name of the base policy that is evaluated.
    setting: of the behaviour policy; 'separate' is of another agent, which is
      shipped with the shipped policy.

  Raises:
    UserError: if there is no other agent.
  """
  if setting != weights.SEPARATE:
    return policy
  if policy == PRETRAINED:
    return f'{PRETRAINED}:{weights.SEPARATE}'
  raise errors.UserError(
      'setting',
      setting,
      f'the data are of another agent than policy={policy}; name it with'
      ' behaviour_policy',
  )


def checksum(policy: tf_policy.TFPolicy) -> str:
  """Returns a hash; base policies that act differently have different ones.

  It is of the user's files where there are some, else of the class and the
  variables.
  """
  drawn = isinstance(policy, sampled.SampledPolicy)
  files = policy.wrapped if drawn else policy
  if hasattr(files, 'file_checksum'):
    return files.file_checksum
  digest = hashlib.sha256(type(policy).__name__.encode())
  for variable in policy.variables():
    value = variable.numpy()
    digest.update(f'{value.dtype}{value.shape}'.encode() + value.tobytes())
  return digest.hexdigest()
