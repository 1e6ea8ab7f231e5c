"""Tests of the layers' PyTorch defaults and of PyTorch's Adam."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf.networks import layers

# Small beside epsilon, and about as large: where the two forms differ.
_GRADIENTS = np.array([[1e-6, -2e-4], [3e-6, 1e-3], [-1e-6, 0.0], [2e-6, 1.0]])


def _torch_adam(gradients, rate, epsilon):
  """Returns w [2] after each step, as torch.optim.Adam's pages define it."""
  w, m, v, found = np.zeros(2), np.zeros(2), np.zeros(2), []
  for t, g in enumerate(gradients, 1):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    corrected = np.sqrt(v / (1.0 - 0.999**t))
    w = w - rate * m / (1.0 - 0.9**t) / (corrected + epsilon)
    found.append(w)
  return np.array(found)


@pytest.mark.parametrize('epsilon', [1.5e-4, 1e-8])
def test_adam_adds_epsilon_to_the_corrected_root(epsilon):
  variable = tf.Variable([0.0, 0.0])
  optimizer = layers.adam(0.1, epsilon)

  @tf.function
  def step(gradient):
    optimizer.apply_gradients([(gradient, variable)])

  found = []
  for gradient in _GRADIENTS.astype(np.float32):
    step(tf.constant(gradient))
    found.append(variable.numpy())
  expected = _torch_adam(_GRADIENTS, 0.1, epsilon)
  np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_adam_goes_on_from_a_checkpoint(tmp_path):
  def make():
    variable, optimizer = tf.Variable([0.0, 0.0]), layers.adam(0.1, 1.5e-4)
    return variable, optimizer, tf.train.Checkpoint(v=variable, o=optimizer)

  def take(variable, optimizer, gradients):
    for gradient in gradients.astype(np.float32):
      optimizer.apply_gradients([(tf.constant(gradient), variable)])

  whole, optimizer, _ = make()
  take(whole, optimizer, _GRADIENTS)
  first, optimizer, checkpoint = make()
  take(first, optimizer, _GRADIENTS[:2])
  path = checkpoint.write(str(tmp_path / 'two'))
  second, optimizer, checkpoint = make()
  checkpoint.read(path)
  take(second, optimizer, _GRADIENTS[2:])
  np.testing.assert_array_equal(second, whole)
