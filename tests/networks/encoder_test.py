"""Tests for the product of features and weights."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf.estimators import srdice
from srdice_tf.networks import encoder

_FEATURES = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def _product(**fields) -> encoder.FeatureProduct:
  config = srdice.SRDICEConfig(num_features=2, **fields)
  return encoder.FeatureProduct(config, np.random.default_rng(0))


def test_a_mean_begins_at_ones():
  product = _product()
  np.testing.assert_allclose(product(_FEATURES), [1.5, 3.5])
  product.w.assign([2.0, -1.0])
  np.testing.assert_allclose(product(_FEATURES), [0.0, 1.0])


def test_a_sum_begins_at_random():
  product = _product(feature_product='sum')
  assert 0.0 < np.abs(product.w).max() <= 1.0 / np.sqrt(2.0)
  product.w.assign([2.0, -1.0])
  np.testing.assert_allclose(product(_FEATURES), [0.0, 2.0])


@pytest.mark.parametrize(
    'kind, expected', [('mean', [0.0, 5.0]), ('sum', [0.0, 10.0])]
)
def test_features_in_units_of_their_mean(kind, expected):
  product = _product(feature_product=kind, normalise_features=True)
  product.set_unit(lambda: 0.2)
  product.set_unit(lambda: 7.0)  # It is known by now.
  product.w.assign([2.0, -1.0])
  np.testing.assert_allclose(product(_FEATURES), expected, rtol=1e-6)
  np.testing.assert_allclose(
      _FEATURES.numpy() @ product.effective().numpy(), expected, rtol=1e-6
  )
  assert len(product.trainable_variables) == 1
  assert len(product.variables) == 2  # The unit is kept in checkpoints.


def test_features_that_are_dead_have_no_unit():
  product = _product(normalise_features=True)
  product.set_unit(lambda: 0.0)
  np.testing.assert_array_equal(product(tf.zeros([3, 2])), np.zeros(3))


def test_gradients():
  """Of y = mean_i(w_i x_i), weighted by (1, 10), by hand."""
  product = _product()
  product.w.assign([2.0, -1.0])
  features = _FEATURES + 0.0
  with tf.GradientTape() as tape:
    tape.watch(features)
    loss = tf.reduce_sum(tf.constant([1.0, 10.0]) * product(features))
  to_w, to_features = tape.gradient(loss, [product.w, features])
  np.testing.assert_allclose(to_w, [(1.0 + 30.0) / 2.0, (2.0 + 40.0) / 2.0])
  np.testing.assert_allclose(to_features, [[1.0, -0.5], [10.0, -5.0]])
