"""The equations of the paper as pure functions of tensors.

Each is named after its method; none has variables. Expectations are means over
the minibatch.
"""

from typing import NamedTuple

import tensorflow as tf


class DiceValues(NamedTuple):
  """The values in the objectives of DualDICE and GradientDICE, [B] each.

  Attributes:
    w: ratios w(s, a).
    f: f(s, a).
    next_f: f(s', a').
    start_f: f(s0, a0).
  """

  w: tf.Tensor
  f: tf.Tensor
  next_f: tf.Tensor
  start_f: tf.Tensor


def mean_squared_error(prediction, target) -> tf.Tensor:
  """Returns the element-wise mean of the squared difference, without 1/2."""
  return tf.reduce_mean(tf.math.squared_difference(prediction, target))


def weighted_squared_error(prediction, target, weights) -> tf.Tensor:
  """Returns E[weight (prediction - target)^2], summed over M predictions.

  Args:
    prediction: [B, M].
    target: [B, M].
    weights: [B, M].
  """
  squares = tf.math.squared_difference(prediction, target)  # [B, M]
  return tf.reduce_sum(tf.reduce_mean(weights * squares, axis=0))


def encoder_decoder_loss(errors, weights) -> tf.Tensor:
  """lambda_s' MSE(s') + lambda_a MSE(a) + lambda_r MSE(r) + ...

  Args:
    errors: the terms that there are, by name.
    weights: the lambdas by the same names.
  """
  return tf.add_n([weights[name] * error for name, error in errors.items()])


def bootstrap_target(now, next_prediction, gamma, not_done) -> tf.Tensor:
  """Returns x + gamma not_done prediction(s', a'), without gradient.

  Args:
    now: [B] rewards, or [B, F] features.
    next_prediction: of the target network, of the same shape.
    gamma: discount.
    not_done: [B], 0 where s' is terminal.
  """
  not_done = tf.reshape(not_done, [-1] + [1] * (now.shape.rank - 1))
  return tf.stop_gradient(now + gamma * not_done * next_prediction)


def srdice_loss(ratios, start_values, gamma) -> tf.Tensor:
  """1/2 E_D[(w.phi)^2] - (1-gamma) E[w.psi(s0, a0)]; both [B]."""
  return 0.5 * tf.reduce_mean(tf.square(ratios)) - (
      1.0 - gamma
  ) * tf.reduce_mean(start_values)


def dual_dice_objective(
    values: DiceValues, gamma, not_done, power: float = 2.0
) -> tf.Tensor:
  """E[w (f - gamma f') - |w|^p / p] - (1-gamma) E[f0]: min over f, max over w.

  Args:
    values: of w and f.
    gamma: discount.
    not_done: [B].
    power: p of the convex function; 2 gives 1/2 w^2, 1.5 gives 2/3 |w|^1.5.
  """
  w = values.w  # [B]
  bellman = values.f - gamma * not_done * values.next_f  # [B]
  convex = tf.pow(tf.abs(w), power) / power  # [B]
  if power == 2.0:
    convex = 0.5 * tf.square(w)  # [B]; its gradient is exact at 0.
  return tf.reduce_mean(w * bellman - convex) - (1.0 - gamma) * tf.reduce_mean(
      values.start_f
  )


def gradient_dice_objective(
    values: DiceValues,
    u,
    gamma,
    not_done,
    norm_weight: float = 1.0,
    f_penalty: bool = True,
) -> tf.Tensor:
  """GradientDICE's objective: min over w, max over f and u.

  (1-gamma) E[f0] + gamma E[w f'] - E[w f] - 1/2 E[f^2]
    + lambda (E[u w - u] - 1/2 u^2)

  Args:
    values: of w and f.
    u: scalar.
    gamma: discount.
    not_done: [B].
    norm_weight: lambda.
    f_penalty: include -1/2 E[f^2]; the SR-DICE paper prints the objective
      without it, which leaves the maximum over f unbounded.
  """
  w, f, next_f, start_f = values
  objective = (
      (1.0 - gamma) * tf.reduce_mean(start_f)
      + gamma * tf.reduce_mean(not_done * w * next_f)
      - tf.reduce_mean(w * f)
      + norm_weight * (tf.reduce_mean(u * w - u) - 0.5 * tf.square(u))
  )
  if f_penalty:
    objective -= 0.5 * tf.reduce_mean(tf.square(f))
  return objective


def flow_residual(differences, starts, gamma) -> tf.Tensor:
  """Returns by how much ratios miss the flow of the target policy.

  The root mean square over functions f of
  E_D[ratio (f - gamma not_done f')] - (1-gamma) E[f0].

  Args:
    differences: [..., J] the first expectation of each function.
    starts: [..., J] E[f(s0, a0)] of each.
    gamma: discount.
  """
  missed = differences - (1.0 - gamma) * starts
  return tf.sqrt(tf.reduce_mean(tf.square(missed)))
