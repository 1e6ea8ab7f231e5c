"""Tests for the losses against arithmetic by hand."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import losses

_GAMMA = 0.9


def _tensor(*values):
  return tf.constant(values, tf.float32)


def test_mean_squared_error_is_a_mean_over_elements_without_a_half():
  error = losses.mean_squared_error(_tensor([1.0, 2.0]), _tensor([0.0, 4.0]))
  assert float(error) == pytest.approx((1.0 + 4.0) / 2.0)


def test_weighted_squared_error_is_a_mean_over_rows_and_a_sum_over_members():
  error = losses.weighted_squared_error(
      _tensor([1.0, 2.0], [3.0, 4.0]),
      _tensor([0.0, 0.0], [1.0, 1.0]),
      _tensor([2.0, 0.0], [1.0, 3.0]),
  )
  first, second = (2.0 * 1.0 + 1.0 * 4.0) / 2, (0.0 + 3.0 * 9.0) / 2
  assert float(error) == pytest.approx(first + second)


def test_encoder_decoder_loss():
  weights = {'next_state': 1.0, 'action': 4.0, 'reward': 0.1, 'feature': 0.5}
  loss = losses.encoder_decoder_loss(
      {'next_state': 2.0, 'action': 3.0, 'reward': 5.0}, weights
  )
  assert float(loss) == pytest.approx(1.0 * 2.0 + 4.0 * 3.0 + 0.1 * 5.0)
  loss = losses.encoder_decoder_loss({'reward': 5.0, 'feature': 6.0}, weights)
  assert float(loss) == pytest.approx(0.1 * 5.0 + 0.5 * 6.0)


def test_bootstrap_target_stops_at_terminal_states():
  target = losses.bootstrap_target(
      _tensor(1.0, 2.0), _tensor(10.0, 20.0), _GAMMA, _tensor(1.0, 0.0)
  )
  np.testing.assert_allclose(target, [1.0 + 0.9 * 10.0, 2.0], rtol=1e-6)


def test_bootstrap_target_of_features():
  target = losses.bootstrap_target(
      _tensor([1.0, 2.0], [3.0, 4.0]),
      _tensor([10.0, 20.0], [30.0, 40.0]),
      _GAMMA,
      _tensor(0.0, 1.0),
  )
  np.testing.assert_allclose(target, [[1.0, 2.0], [30.0, 40.0]], rtol=1e-6)


def test_bootstrap_target_has_no_gradient():
  prediction = tf.Variable([3.0])
  with tf.GradientTape() as tape:
    target = losses.bootstrap_target(
        _tensor(1.0), prediction, _GAMMA, _tensor(1.0)
    )
  assert tape.gradient(target, prediction) is None


def test_srdice_loss():
  loss = losses.srdice_loss(_tensor(2.0, 4.0), _tensor(3.0, 5.0), _GAMMA)
  expected = 0.5 * (4.0 + 16.0) / 2.0 - 0.1 * (3.0 + 5.0) / 2.0
  assert float(loss) == pytest.approx(expected)


def test_dual_dice_objective():
  objective = losses.dual_dice_objective(
      losses.DiceValues(
          w=_tensor(2.0, -1.0),
          f=_tensor(1.0, 3.0),
          next_f=_tensor(2.0, 5.0),
          start_f=_tensor(4.0, 6.0),
      ),
      gamma=_GAMMA,
      not_done=_tensor(1.0, 0.0),
  )
  first = 2.0 * (1.0 - 0.9 * 2.0) - 0.5 * 4.0
  second = -1.0 * 3.0 - 0.5 * 1.0
  expected = (first + second) / 2.0 - 0.1 * 5.0
  assert float(objective) == pytest.approx(expected)


def test_dual_dice_objective_with_three_halves():
  objective = losses.dual_dice_objective(
      losses.DiceValues(
          w=_tensor(-4.0),
          f=_tensor(1.0),
          next_f=_tensor(0.0),
          start_f=_tensor(0.0),
      ),
      gamma=_GAMMA,
      not_done=_tensor(1.0),
      power=1.5,
  )
  assert float(objective) == pytest.approx(-4.0 - 2.0 / 3.0 * 8.0)


def _gradient_dice(**options):
  return float(
      losses.gradient_dice_objective(
          losses.DiceValues(
              w=_tensor(2.0, 1.0),
              f=_tensor(1.0, 3.0),
              next_f=_tensor(2.0, 5.0),
              start_f=_tensor(4.0, 6.0),
          ),
          u=tf.constant(0.5),
          gamma=_GAMMA,
          not_done=_tensor(1.0, 0.0),
          **options,
      )
  )


def test_gradient_dice_objective():
  flow = 0.1 * 5.0 + 0.9 * (2.0 * 2.0) / 2.0 - (2.0 * 1.0 + 1.0 * 3.0) / 2.0
  norm = (0.5 * 2.0 - 0.5 + 0.5 * 1.0 - 0.5) / 2.0 - 0.5 * 0.25
  penalty = 0.5 * (1.0 + 9.0) / 2.0
  assert _gradient_dice() == pytest.approx(flow + norm - penalty)
  assert _gradient_dice(f_penalty=False) == pytest.approx(flow + norm)
  assert _gradient_dice(norm_weight=3.0) == pytest.approx(
      flow + 3.0 * norm - penalty
  )


def test_printed_gradient_dice_has_no_maximum_over_f():
  """Linear in f: without the penalty doubling f doubles the gain."""
  scaled = [
      float(
          losses.gradient_dice_objective(
              losses.DiceValues(_tensor(2.0), *3 * [scale * _tensor(1.0)]),
              u=tf.constant(0.0),
              gamma=_GAMMA,
              not_done=_tensor(0.0),
              f_penalty=False,
          )
      )
      for scale in (-1.0, -10.0, -100.0)
  ]
  np.testing.assert_allclose(np.diff(scaled) > 0, True)
