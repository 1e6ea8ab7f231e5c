"""Initial weights, activations and biases of every network, by hand.

PyTorch draws kernel and bias of a layer from U(-1/sqrt(n), 1/sqrt(n)), where n
is the number of inputs of a unit: channels times the area of the kernel for a
convolution, and filters times the area for a transposed one.
"""


import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf.estimators import presets
from srdice_tf.estimators import representation
from srdice_tf.estimators import srdice
from srdice_tf.networks import encoder
from srdice_tf.networks import frame_networks
from srdice_tf.networks import stacked
from srdice_tf.networks import vector_inputs

_VECTORS = (
    array_spec.BoundedArraySpec((17,), np.float32, -1.0, 1.0),
    array_spec.BoundedArraySpec((6,), np.float32, -1.0, 1.0),
)
_FRAMES = (
    array_spec.BoundedArraySpec((84, 84, 4), np.uint8, 0, 255),
    array_spec.BoundedArraySpec((), np.int64, 0, 2),
)
_VECTOR_CONFIG, _FRAME_CONFIG = (
    presets.preset('paper', is_frames).of(representation.RepresentationConfig)
    for is_frames in (False, True)
)

# Shape of each variable, and n; without a bias where none follows.
_MLP = [((23, 256), 23), ((256,), 23), ((256, 256), 256), ((256,), 256)]
_TRUNK = [
    ((8, 8, 4, 32), 4 * 8 * 8), ((32,), 4 * 8 * 8),
    ((4, 4, 32, 64), 32 * 4 * 4), ((64,), 32 * 4 * 4),
    ((3, 3, 64, 64), 64 * 3 * 3), ((64,), 64 * 3 * 3),
    ((3136, 512), 3136), ((512,), 3136),
]  # pyformat: disable
_EXPECTED = {
    'psi': [*_MLP, ((256, 256), 256), ((256,), 256)],
    'Q, f, w': [*_MLP, ((256, 1), 256), ((1,), 256)],
    'encoder-decoder': [
        *_MLP,
        ((256, 256), 256), ((256,), 256), ((256, 17), 256), ((17,), 256),
        ((256, 256), 256), ((256,), 256), ((256, 6), 256), ((6,), 256),
        ((256, 1), 256),
    ],
    'psi, frames': [*_TRUNK, ((512, 768), 512), ((768,), 512)],
    'Q, f, w, frames': [*_TRUNK, ((512, 3), 512), ((3,), 512)],
    'encoder-decoder, frames': [
        *_TRUNK,
        ((512, 256), 512), ((256,), 512),
        ((256, 3136), 256), ((3136,), 256),
        ((3, 3, 64, 64), 64 * 3 * 3), ((64,), 64 * 3 * 3),
        ((4, 4, 32, 64), 32 * 4 * 4), ((32,), 32 * 4 * 4),
        ((8, 8, 1, 32), 1 * 8 * 8), ((1,), 1 * 8 * 8),
        ((256, 1), 256),
    ],
    'w, a sum': [((256,), 256)],
    'stacked': [((4, 3, 32), 3), ((4, 1, 32), 3), ((4, 32, 2), 32),
                ((4, 1, 2), 32)],
}  # pyformat: disable


def _make(name):
  """Returns the variables of a network."""
  rng = np.random.default_rng(0)
  vectors = vector_inputs.VectorInputs(*_VECTORS)
  pixels = frame_networks.FrameInputs(*_FRAMES)
  make = {
      'psi': lambda: vectors.network(256, _VECTOR_CONFIG, rng),
      'Q, f, w': lambda: vectors.network(1, _VECTOR_CONFIG, rng, 'tanh'),
      'encoder-decoder': lambda: vectors.encoder_decoder(_VECTOR_CONFIG, rng),
      'psi, frames': lambda: pixels.network(256, _FRAME_CONFIG, rng),
      'Q, f, w, frames': lambda: pixels.network(1, _FRAME_CONFIG, rng),
      'encoder-decoder, frames': lambda: pixels.encoder_decoder(
          _FRAME_CONFIG, rng
      ),
      'w, a sum': lambda: encoder.FeatureProduct(
          srdice.SRDICEConfig(feature_product='sum'), rng
      ),
      'stacked': lambda: stacked.StackedMLP(4, 3, [32], 2, rng),
  }
  return make[name]().trainable_variables


@pytest.mark.parametrize('name', _EXPECTED)
def test_each_layer_has_pytorchs_bounds(name):
  variables = _make(name)
  if name == 'stacked':  # Its kernels come first.
    variables = [variables[i] for i in (2, 0, 3, 1)]
  expected = _EXPECTED[name]
  assert [tuple(v.shape) for v in variables] == [shape for shape, _ in expected]
  for variable, (shape, fan_in) in zip(variables, expected):
    values, bound = variable.numpy(), 1.0 / np.sqrt(fan_in)
    assert np.abs(values).max() <= bound, shape
    assert np.abs(values).max() > 0.0, shape
    if values.size >= 256:  # Uniform, up to the bounds.
      assert np.abs(values).max() > 0.97 * bound, shape
      deviation = bound / np.sqrt(3.0)
      assert values.std() == pytest.approx(deviation, rel=0.15), shape
      assert abs(values.mean()) < 0.2 * deviation, shape
  # No two layers begin alike.
  firsts = [v.numpy().ravel()[0] / n**-0.5 for v, (_, n) in zip(
      variables, expected
  )]
  assert len(set(np.round(firsts, 6))) == len(firsts)


def _hidden(network, inputs, activation):
  *hidden, (kernel, bias) = zip(*[iter(network.get_weights())] * 2)
  for hidden_kernel, hidden_bias in hidden:
    inputs = activation(inputs @ hidden_kernel + hidden_bias)
  return inputs @ kernel + bias


@pytest.mark.parametrize('num_layers', [1, 2, 3])
def test_hidden_layers_by_number_and_size(num_layers):
  """One more is what the paper calls big; F stays the size of phi and psi."""
  config = dataclasses.replace(
      _VECTOR_CONFIG, hidden_layers=num_layers, hidden_units=32, num_features=8
  )
  vectors = vector_inputs.VectorInputs(*_VECTORS)
  rng = np.random.default_rng(0)
  shapes = lambda network: [w.shape for w in network.get_weights()[::2]]
  between = [(32, 32)] * (num_layers - 1)
  psi = vectors.network(8, config, rng)
  assert shapes(psi) == [(23, 32), *between, (32, 8)]
  model = vectors.encoder_decoder(config, rng)
  sizes = [32] * (num_layers - 1)
  pairs = lambda *ends: list(zip(ends[:-1], ends[1:]))
  assert shapes(model._encoder) == pairs(23, *sizes, 8)
  assert shapes(model._next_state) == pairs(8, *sizes, 17)
  assert shapes(model._action) == pairs(8, *sizes, 6)
  x = np.random.default_rng(1).normal(size=(5, 23)).astype(np.float32)
  relu = lambda values: np.maximum(values, 0.0)
  np.testing.assert_allclose(
      model.encode(tf.constant(x)),
      relu(_hidden(model._encoder, x, relu)),
      atol=1e-5,
  )


def test_hidden_layers_behind_convolutions():
  config = dataclasses.replace(
      _FRAME_CONFIG, hidden_layers=3, hidden_units=32, num_features=8
  )
  pixels = frame_networks.FrameInputs(*_FRAMES)
  rng = np.random.default_rng(0)
  between = [(3136, 32), (32, 32), (32, 32)]
  shapes = lambda network: [
      tuple(v.shape) for v in network.trainable_variables[::2]
  ]
  assert shapes(pixels.network(8, config, rng))[3:] == [*between, (32, 24)]
  model = pixels.encoder_decoder(config, rng)
  assert shapes(model._encoder)[3:] == [*between, (32, 8)]


def test_the_reward_is_linear_in_phi_without_a_bias():
  vectors = vector_inputs.VectorInputs(*_VECTORS)
  model = vectors.encoder_decoder(_VECTOR_CONFIG, np.random.default_rng(0))
  x = np.random.default_rng(1).normal(size=(5, 23)).astype(np.float32)
  (kernel,) = model._reward.get_weights()
  phi = model.encode(tf.constant(x)).numpy()
  *_, rewards = model(tf.constant(x))
  np.testing.assert_allclose(rewards, (phi @ kernel)[:, 0], atol=1e-6)


def test_the_reward_of_frames_is_linear_in_phi_without_a_bias():
  pixels = frame_networks.FrameInputs(*_FRAMES)
  model = pixels.encoder_decoder(_FRAME_CONFIG, np.random.default_rng(0))
  states = tf.zeros((1, 84, 84, 4), tf.uint8)
  (kernel,) = model._reward.get_weights()
  phi, _, rewards = model(pixels(states, tf.constant([0])))
  assert np.max(phi) > 0.0
  np.testing.assert_allclose(rewards, (phi @ kernel)[:, 0], atol=1e-6)
