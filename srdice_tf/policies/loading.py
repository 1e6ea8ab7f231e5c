"""Finds the base policy that a user names."""

import hashlib
import os

from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import saved
from srdice_tf.policies import tabular
from srdice_tf.policies import weights

PRETRAINED, UNTRAINED, RANDOM = 'pretrained', 'untrained', 'random'


def load(
    name: str, env_id: str, observation_spec, action_spec
) -> tf_policy.TFPolicy:
  """Returns a base policy, without the noise of target or behaviour policy.

  Args:
    name: 'pretrained', the one shipped for the environment, or
      'pretrained:weak', ':medium', ':good', earlier ones of the same run, or
      'pretrained:separate', that of another agent;
      'untrained', a network with random weights; 'random', uniform actions; a
      directory with a TF-Agents SavedModel; a file of weights (.npz), or of a
      finite MDP's table of probabilities (.npy).
    env_id: the environment.
    observation_spec: of the environment.
    action_spec: of the environment, bounded.

  Raises:
    UserError: if there is no such policy, or it does not fit.
  """
  policy = _load(name, env_id, observation_spec, action_spec)
  policy.source = f'--policy={name}'  # What errors call it.
  return policy


def _load(
    name: str, env_id: str, observation_spec, action_spec
) -> tf_policy.TFPolicy:
  specs = observation_spec, action_spec
  kind, colon, checkpoint = name.partition(':')
  if name == RANDOM:
    return composed.UniformPolicy(*specs)
  if name == UNTRAINED:
    return base.deterministic_policy(*specs)
  if kind == PRETRAINED:
    checkpoint = checkpoint if colon else weights.BEST
    policy = tabular.shipped(env_id, *specs)
    if policy is not None:
      _check_only_one(name, env_id, checkpoint)
      return policy
    network = weights.load_pretrained(env_id, *specs, checkpoint)
    return base.deterministic_policy(*specs, network)
  if os.path.isdir(name):
    return saved.load(name, *specs)
  if os.path.isfile(name) and name.endswith('.npy'):
    return tabular.load(name, *specs)
  if os.path.isfile(name) and name.endswith('.npz'):
    network = weights.load_network(name, *specs)
    return base.deterministic_policy(*specs, network)
  found = 'of no known kind' if os.path.exists(name) else 'no such file'
  raise errors.UserError(
      f'--policy={name}: {found}; expected {PRETRAINED},'
      f' {UNTRAINED}, {RANDOM}, a TF-Agents SavedModel or a file of weights'
      ' (.npz) or probabilities (.npy).'
  )


def _check_only_one(name: str, env_id: str, checkpoint: str):
  if checkpoint != weights.BEST:
    raise errors.UserError(
        f'--policy={name}: {env_id} is a finite MDP with one policy of its'
        f' own; expected {PRETRAINED}.'
    )


def behaviour_name(policy: str, setting: str) -> str:
  """Returns whose actions make the data if no other policy is named.

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
      f'--setting={setting}: the data are of another agent than'
      f' --policy={policy}; name it with --behaviour_policy.'
  )


def checksum(policy: tf_policy.TFPolicy) -> str:
  """Returns a hash that tells a base policy from those that act otherwise.

  It covers the files of a SavedModel, of others their kind and variables.
  """
  files = getattr(policy, 'wrapped', policy)
  if isinstance(files, saved.SavedPolicy):
    return files.file_checksum
  digest = hashlib.sha256(type(policy).__name__.encode())
  for variable in policy.variables():
    value = variable.numpy()
    digest.update(f'{value.dtype}{value.shape}'.encode() + value.tobytes())
  return digest.hexdigest()
