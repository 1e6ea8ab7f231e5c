"""Tests of the fast convolutions against the library's own."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf.networks import convolution


def _gradients(layer, x):
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = layer(x)
    loss = tf.reduce_sum(tf.sin(y))
  return y, tape.gradient(loss, [x, *layer.trainable_variables])


def _assert_same(ours, theirs, x):
  ours.build(x.shape)
  theirs.build(x.shape)
  theirs.set_weights(ours.get_weights())
  left, right = _gradients(ours, x), _gradients(theirs, x)
  for a, b in zip(tf.nest.flatten(left), tf.nest.flatten(right)):
    scale = np.abs(b).max()
    np.testing.assert_allclose(a / scale, b / scale, atol=2e-6)


@pytest.mark.parametrize(
    ('size', 'channels', 'filters', 'kernel', 'stride'),
    [(84, 4, 16, 8, 4), (20, 32, 64, 4, 2), (9, 64, 64, 3, 1)],
)
def test_values_and_gradients_are_conv2ds(
    size, channels, filters, kernel, stride
):
  arguments = dict(activation='relu', bias_initializer='ones')
  x = tf.random.stateless_normal((3, size, size, channels), (1, 2))
  _assert_same(
      convolution.Convolution(filters, kernel, stride, **arguments),
      tf.keras.layers.Conv2D(filters, kernel, stride, **arguments),
      x,
  )


def test_values_and_gradients_are_denses():
  arguments = dict(activation='relu', bias_initializer='ones')
  x = tf.random.stateless_normal((3, 50), (1, 2))
  _assert_same(
      convolution.WideDense(7, **arguments),
      tf.keras.layers.Dense(7, **arguments),
      x,
  )


def test_pixels_are_scaled():
  layer = convolution.Convolution(5, 4, 2, pixel_scale=255.0)
  pixels = np.random.default_rng(0).integers(256, size=(2, 8, 8, 3))
  pixels = pixels.astype(np.uint8)
  np.testing.assert_allclose(
      layer(tf.constant(pixels)), layer(pixels.astype(np.float32) / 255.0),
      rtol=1e-6,
  )
