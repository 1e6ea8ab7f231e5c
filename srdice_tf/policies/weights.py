"""Compact files of a network's weights, and the shipped policies."""

import json
import os

import numpy as np

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.policies import array_files
from srdice_tf.policies import base

PRETRAINED_DIR = os.path.join(os.path.dirname(__file__), 'pretrained')
# 'separate' is of another agent: the behaviour policy of the setting.
BEST, SEPARATE = 'best', 'separate'
CHECKPOINTS = (BEST, 'good', 'medium', 'weak', SEPARATE)


def save(path: str, network, dtype=np.float32):
  """Writes the variables of `network` in their order, by number."""
  arrays = {
      f'{i:02d}': variable.numpy().astype(dtype)
      for i, variable in enumerate(network.variables)
  }
  temporary = f'{path}.tmp'
  with open(temporary, 'wb') as file:
    np.savez(file, **arrays)
  os.replace(temporary, path)  # A killed run leaves the old file or the new.


def restore(path: str, network):
  """Reads what `save` wrote into the variables of `network`.

  Raises:
    UserError: if it cannot be read or is of another network.
  """
  _assign(path, array_files.read_npz(path), network)


def _assign(path: str, arrays: list[np.ndarray], network):
  found = [array.shape for array in arrays]
  expected = [tuple(variable.shape) for variable in network.variables]
  if found != expected:
    raise errors.at(
        path,
        f'weights of shapes {found} do not fit the network, expected'
        f' {expected}',
    )
  for variable, array in zip(network.variables, arrays):
    variable.assign(array.astype(np.float32))


def make_network(observation_spec, action_spec, trunk=base.PAPER_TRUNK):
  """Returns an untrained network that `restore` can fill."""
  if base.is_discrete(action_spec):
    return base.q_network(observation_spec, action_spec, trunk=trunk)
  return base.actor_network(observation_spec, action_spec)


def load_network(path: str, observation_spec, action_spec):
  """Returns the network whose weights are in `path`.

  Raises:
    UserError: if they cannot be read or do not fit a network for these specs.
  """
  arrays = array_files.read_npz(path)
  is_small = arrays[0].shape[-1:] == (base.SMALL_TRUNK.convolutions[0][0],)
  trunk = base.SMALL_TRUNK if is_small else base.PAPER_TRUNK
  network = make_network(observation_spec, action_spec, trunk)
  _assign(path, arrays, network)
  return network


def directory(env_id: str) -> str:
  """Returns where the policies of an environment are shipped."""
  return os.path.join(PRETRAINED_DIR, env_id.replace('/', '_'))


def file_name(checkpoint: str) -> str:
  """Returns the name of the weights of one of CHECKPOINTS."""
  if checkpoint not in CHECKPOINTS:
    raise errors.UserError(
        'checkpoint', checkpoint, f'expected one of {", ".join(CHECKPOINTS)}'
    )
  return 'weights.npz' if checkpoint == BEST else f'{checkpoint}.npz'


def read_card(path: str) -> dict:
  """Returns the card of shipped policies in a file.

  Raises:
    UserError: if it is damaged.
  """
  try:
    with open(path) as file:
      card = json.load(file)
    for entry in (card, *card['checkpoints'].values()):
      _ = entry['file'], entry['sha256']
    _ = card['environment']['id']
  except (ValueError, KeyError, TypeError, AttributeError) as error:
    raise errors.at(
        path,
        f'damaged ({type(error).__name__}: {error})',
        'expected the card that comes with shipped policies: restore the file,'
        ' or ship the policy again',
    ) from error
  return card


def _not_shipped(env_id: str, agent: str) -> errors.UserError:
  return errors.UserError(
      'env',
      env_id,
      'no policy is shipped for it; train one with'
      f' {commands.line("train_policy", env=env_id, agent=agent)}'
      ' and give its directory as the policy',
  )


def load_pretrained(
    env_id: str, observation_spec, action_spec, checkpoint: str = BEST
):
  """Returns the shipped actor or Q network of an environment.

  Args:
    env_id: of the environment.
    observation_spec: of the environment, an array spec.
    action_spec: of the environment, a bounded array spec.
    checkpoint: 'best', or an earlier one of the same run: 'good', 'medium' or
      'weak'; or 'separate', of another agent.

  Raises:
    UserError: if none is shipped.
  """
  path = os.path.join(directory(env_id), file_name(checkpoint))
  if not os.path.exists(path):
    agent = 'ddqn' if base.is_discrete(action_spec) else 'td3'
    if checkpoint == SEPARATE:
      agent = 'ddqn_per'
    raise _not_shipped(env_id, agent)
  return load_network(path, observation_spec, action_spec)
