"""Tests of the networks over frames."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf.estimators import presets
from srdice_tf.estimators import representation
from srdice_tf.networks import frame_networks

_SPECS = (
    array_spec.BoundedArraySpec((84, 84, 4), np.uint8, 0, 255),
    array_spec.BoundedArraySpec((), np.int64, 0, 2),
)
_CONFIG = presets.preset('fixed', is_frames=True).of(
    representation.RepresentationConfig
)


@pytest.fixture(scope='module')
def inputs():
  return frame_networks.FrameInputs(*_SPECS)


def _states(count):
  pixels = np.random.default_rng(0).integers(256, size=(count, 84, 84, 4))
  return tf.constant(pixels.astype(np.uint8))


def _shapes(model):
  return [tuple(v.shape) for v in model.trainable_variables]


def test_sizes_are_the_papers(inputs):
  rng = np.random.default_rng(0)
  psi = inputs.network(256, _CONFIG, rng)
  assert _shapes(psi) == [
      (8, 8, 4, 32), (32,), (4, 4, 32, 64), (64,), (3, 3, 64, 64), (64,),
      (3136, 512), (512,), (512, 3 * 256), (3 * 256,),
  ]
  printed = dataclasses.replace(_CONFIG, second_filters=32)
  assert _shapes(inputs.network(1, printed, rng))[2] == (4, 4, 32, 32)
  model = inputs.encoder_decoder(_CONFIG, rng)
  assert _shapes(model)[8:] == [
      (512, 256), (256,), (256, 3136), (3136,), (3, 3, 64, 64), (64,),
      (4, 4, 32, 64), (32,), (8, 8, 1, 32), (1,), (256, 1),
  ]


def test_actions_choose_heads_and_probabilities_average_them(inputs):
  network = inputs.network(5, _CONFIG, np.random.default_rng(0))
  states = _states(2)
  each = np.stack(
      [network(inputs(states, tf.constant([a, a]))) for a in range(3)], 1
  )  # [B, A, 5]
  assert np.abs(each[:, 0] - each[:, 1]).max() > 1e-3
  weights = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
  expected = np.einsum('bao,ba->bo', each, weights)
  found = network(inputs(states, tf.constant(weights)))
  np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_phi_does_not_depend_on_the_action(inputs):
  model = inputs.encoder_decoder(_CONFIG, np.random.default_rng(0))
  states = _states(2)
  left = model.encode(inputs(states, tf.constant([0, 0])))
  right = model.encode(inputs(states, tf.constant([1, 2])))
  assert left.shape == (2, 256)
  np.testing.assert_array_equal(left, right)
  assert np.min(left) >= 0.0


@pytest.mark.parametrize('scale, mask', [(1.0, True), (255.0, False)])
def test_errors_of_the_decoders(inputs, scale, mask):
  config = dataclasses.replace(
      _CONFIG, pixel_scale=scale, mask_terminal_frame=mask
  )
  model = inputs.encoder_decoder(config, np.random.default_rng(0))
  states, next_states = _states(3)[:2], _states(3)[1:]
  batch = SimpleNamespace(
      inputs=inputs(states, tf.constant([0, 1])),
      next_states=next_states,
      rewards=tf.constant([0.5, -1.0]),
      not_done=tf.constant([1.0, 0.0]),
  )
  features, decoded, rewards = (x.numpy() for x in model(batch.inputs))
  assert decoded.shape == (2, 84, 84, 1)
  newest = next_states.numpy()[..., 3:].astype(np.float32) / scale
  errors = model.errors(batch)
  # The second transition ends: masked, it counts as an error of 0.
  frame_errors = np.mean(np.square(decoded - newest), axis=(1, 2, 3))
  frame_errors *= [1.0, 0.0 if mask else 1.0]
  np.testing.assert_allclose(
      errors['next_state'], frame_errors.mean(), rtol=1e-4
  )
  reward_error = np.mean((rewards - [0.5, -1.0]) ** 2)
  np.testing.assert_allclose(errors['reward'], reward_error, rtol=1e-5)
  np.testing.assert_allclose(errors['feature'], np.mean(features**2), rtol=1e-5)
