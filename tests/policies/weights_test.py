"""Tests of weight files and of finding the shipped ones."""

import numpy as np
import pytest
from tf_agents.specs import array_spec

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import weights

_OBSERVATIONS = array_spec.ArraySpec((3,), np.float32)
_ACTIONS = array_spec.BoundedArraySpec((1,), np.float32, -2.0, 2.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 3)


def _arrays(network):
  return [variable.numpy() for variable in network.variables]


def test_weights_come_back_exactly(tmp_path):
  path = str(tmp_path / 'weights.npz')
  network = base.actor_network(_OBSERVATIONS, _ACTIONS, seed=1)
  other = base.actor_network(_OBSERVATIONS, _ACTIONS, seed=2)
  weights.save(path, network)
  weights.restore(path, other)
  for left, right in zip(_arrays(network), _arrays(other)):
    np.testing.assert_array_equal(left, right)


def test_half_precision_halves_the_file(tmp_path):
  network = base.q_network(_OBSERVATIONS, _CHOICES)
  whole, half = tmp_path / 'whole.npz', tmp_path / 'half.npz'
  weights.save(str(whole), network)
  weights.save(str(half), network, np.float16)
  assert half.stat().st_size < 0.6 * whole.stat().st_size
  other = weights.make_network(_OBSERVATIONS, _CHOICES)
  weights.restore(str(half), other)
  for left, right in zip(_arrays(network), _arrays(other)):
    np.testing.assert_allclose(left, right, atol=5e-4)
    assert right.dtype == np.float32


def test_weights_of_another_task_are_refused(tmp_path):
  path = str(tmp_path / 'weights.npz')
  weights.save(path, base.actor_network(_OBSERVATIONS, _ACTIONS))
  other = base.q_network(_OBSERVATIONS, _CHOICES)
  with pytest.raises(errors.UserError, match='do not fit the network'):
    weights.restore(path, other)


def test_a_shipped_policy_is_loaded():
  networks = {
      checkpoint: weights.load_pretrained(
          'Pendulum-v1', _OBSERVATIONS, _ACTIONS, checkpoint
      )
      for checkpoint in weights.CHECKPOINTS
      if checkpoint != weights.SEPARATE
  }
  kernels = [_arrays(network)[2] for network in networks.values()]
  for i, left in enumerate(kernels):
    assert all((left != right).any() for right in kernels[:i])


@pytest.mark.parametrize(
    ('env_id', 'agent'), [('MountainCar-v0', 'ddqn'), ('Swimmer-v4', 'td3')]
)
def test_an_environment_without_one_names_the_command(env_id, agent):
  action_spec = _CHOICES if agent == 'ddqn' else _ACTIONS
  with pytest.raises(errors.UserError) as error:
    weights.load_pretrained(env_id, _OBSERVATIONS, action_spec)
  message = str(error.value)
  assert message.startswith(f'env={env_id}: no policy is shipped')
  command = f'binaries/train_policy.py --env={env_id} --agent={agent}'
  assert command in message


def test_slashes_do_not_nest_directories():
  assert weights.directory('ALE/Pong-v5').endswith('pretrained/ALE_Pong-v5')


def test_an_unknown_checkpoint_is_refused():
  with pytest.raises(errors.UserError, match='^checkpoint=worst: expected'):
    weights.load_pretrained('Pendulum-v1', _OBSERVATIONS, _ACTIONS, 'worst')


def test_a_small_network_is_known_by_its_weights(tmp_path):
  pixels = array_spec.BoundedArraySpec((84, 84, 4), np.uint8, 0, 255)
  path = str(tmp_path / 'weights.npz')
  for trunk in (base.PAPER_TRUNK, base.SMALL_TRUNK):
    network = base.q_network(pixels, _CHOICES, 1, trunk)
    weights.save(path, network)
    loaded = weights.load_network(path, pixels, _CHOICES)
    for left, right in zip(_arrays(network), _arrays(loaded), strict=True):
      np.testing.assert_array_equal(left, right)


def test_the_separate_agent_has_a_command_of_its_own():
  with pytest.raises(errors.UserError, match='agent=ddqn_per'):
    weights.load_pretrained(
        'MountainCar-v0', _OBSERVATIONS, _CHOICES, weights.SEPARATE
    )
