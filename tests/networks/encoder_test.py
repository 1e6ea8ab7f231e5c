"""Tests for the networks of SR-DICE."""

import numpy as np
import tensorflow as tf

from srdice_tf.networks import encoder


def test_linear_ratio_is_a_mean_and_begins_at_ones():
  ratio = encoder.LinearRatio(2)
  features = tf.constant([[1.0, 2.0], [3.0, 4.0]])
  np.testing.assert_allclose(ratio(features), [1.5, 3.5])
  ratio.w.assign([2.0, -1.0])
  np.testing.assert_allclose(ratio(features), [0.0, 1.0])


def test_gradients_of_the_linear_ratio():
  """Of y = mean_i(w_i x_i), weighted by (1, 10), by hand."""
  ratio = encoder.LinearRatio(2)
  ratio.w.assign([2.0, -1.0])
  features = tf.constant([[1.0, 2.0], [3.0, 4.0]])
  with tf.GradientTape() as tape:
    tape.watch(features)
    loss = tf.reduce_sum(tf.constant([1.0, 10.0]) * ratio(features))
  to_w, to_features = tape.gradient(loss, [ratio.w, features])
  np.testing.assert_allclose(to_w, [(1.0 + 30.0) / 2.0, (2.0 + 40.0) / 2.0])
  np.testing.assert_allclose(to_features, [[1.0, -0.5], [10.0, -5.0]])
