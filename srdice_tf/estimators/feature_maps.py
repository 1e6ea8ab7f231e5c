"""Features phi(s, a) for closed forms: random, trained, or one per pair."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import problems

# Standardised numbers are clipped to it: a sensor that is nearly always 0 would
# otherwise dominate all others when it is not.
_CLIP = 5.0
_CHUNK = 1024  # Transitions that are in memory in float64 at a time.
# A dimension that varies less than this, relative to its size, is constant.
_CONSTANT = 1e-6


class Features(tf.Module):
  """A map from (s, a) to R^F."""

  num_features: int

  def __call__(self, inputs: tf.Tensor) -> tf.Tensor:
    """Returns phi [B, F] of (s, a) as vectors [B, S + A]."""
    raise NotImplementedError

  def expected(self, support: action_expectations.Support) -> tf.Tensor:
    """Returns E_a[phi(s, a)] [B, F] over the actions of a support."""
    return action_expectations.expected(self, support)


class RandomLayer(Features):
  """activation(x.W + c) of standardised s and scaled a, frozen at random.

  W ~ N(0, scale^2 / (S + A)) and c ~ N(0, 1): a large scale makes the features
  vary quickly with (s, a), a small one makes them nearly linear. Everything is
  kept in variables without fixed shapes, so that a checkpoint can restore a
  layer of another size.
  """

  def __init__(
      self,
      standardisation: tuple[np.ndarray, np.ndarray],
      num_features: int,
      scale,
      rng: np.random.Generator,
      activation: Callable = tf.nn.relu,
      has_constant: bool = True,
  ):
    """Draws the layer.

    Args:
      standardisation: see there.
      num_features: F, the constant included.
      scale: of the weights, one number or one for each unit.
      rng: of the weights.
      activation: of the layer.
      has_constant: whether the last feature is activation(1), 1 for ReLU.
    """
    super().__init__(name='random_layer')
    self._activation = activation
    centre, width = standardisation
    units = num_features - int(has_constant)
    kernel = rng.normal(size=(len(centre), units)) * scale
    bias = rng.normal(size=units)
    if has_constant:  # A unit without inputs: relu(1) is 1.
      kernel = np.pad(kernel, ((0, 0), (0, 1)))
      bias = np.append(bias, 1.0)
    self._centre = _frozen(centre)  # [S + A]
    self._width = _frozen(width)  # [S + A]
    self._kernel = _frozen(kernel / np.sqrt(len(centre)))  # [S + A, F]
    self._bias = _frozen(bias)  # [F]

  @property
  def num_features(self) -> int:
    return int(tf.shape(self._bias)[0])

  def assign(self, other: 'RandomLayer'):
    """Makes this layer equal to another one, of any size."""
    for mine, theirs in zip(self.variables, other.variables):
      mine.assign(theirs)

  def __call__(self, inputs):
    inputs = (inputs - self._centre) / self._width
    inputs = tf.clip_by_value(inputs, -_CLIP, _CLIP)  # [B, S + A]
    # In this form TensorFlow makes one operation of product, bias and ReLU.
    sums = tf.nn.bias_add(tf.matmul(inputs, self._kernel), self._bias)
    return self._activation(sums)  # [B, F]


class OneHot(Features):
  """A feature for each pair of a finite MDP: the tabular solution."""

  def __init__(self, inputs):
    super().__init__(name='one_hot')
    self._num_states = inputs.num_state_values
    self.num_features = inputs.num_state_values * inputs.num_action_values

  def __call__(self, inputs):
    states = inputs[:, : self._num_states]  # [B, S]
    actions = inputs[:, self._num_states :]  # [B, A]
    pairs = states[:, :, None] * actions[:, None]  # [B, S, A]
    return tf.reshape(pairs, [-1, self.num_features])


class Encoded(Features):
  """The phi that SR-DICE trains, with a constant added."""

  def __init__(self, representation):
    super().__init__(name='encoded')
    self._representation = representation
    self.num_features = representation.config.num_features + 1

  def __call__(self, inputs):
    return _with_constant(self._representation.encode(inputs))  # [B, F]


class SuccessorLayer(Features):
  """The last hidden layer of psi's network, with a constant added.

  psi is linear in it, and it was trained to be: what lies ahead of (s, a) is
  in it, also where psi itself still lags behind its target network.
  """

  def __init__(self, representation):
    super().__init__(name='successor_layer')
    self._representation = representation
    self.num_features = representation.num_hidden + 1

  def __call__(self, inputs):
    hidden = self._representation.successor_hidden(inputs)  # [B, F - 1]
    return _with_constant(hidden)


def _with_constant(features: tf.Tensor) -> tf.Tensor:
  return tf.concat([features, tf.ones_like(features[:, :1])], axis=-1)


def standardisation(
    problem: problems.Problem,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the centre and width [S + A] of each number of (s, a).

  States have mean 0 and standard deviation 1 with it, actions lie between -1
  and 1. Constant numbers have width 1 and become 0.
  """
  count = problem.inputs.num_state_values
  sums, squares = np.zeros(problem.inputs.size), np.zeros(problem.inputs.size)
  low, high = sums + np.inf, sums - np.inf
  # Squares are taken around a state, since large means lose digits in float64.
  origin = None
  for index, _ in problem.passing(_CHUNK):
    values = problem.loaded.state_actions(index).numpy()  # [B, S + A]
    if origin is None:
      origin = values[0].astype(np.float64)
    values = values - origin
    sums += values.sum(0)
    squares += np.square(values).sum(0)
    low, high = np.minimum(low, values.min(0)), np.maximum(high, values.max(0))
  mean = sums / problem.size
  std = np.sqrt(np.maximum(squares / problem.size - mean**2, 0.0))
  centre = np.concatenate([mean[:count], (low + high)[count:] / 2]) + origin
  width = np.concatenate([std[:count], (high - low)[count:] / 2])
  is_constant = width <= _CONSTANT * np.maximum(np.abs(centre), 1.0)
  return centre, np.where(is_constant, 1.0, width)


def _frozen(value: np.ndarray) -> tf.Variable:
  return tf.Variable(
      tf.constant(value, tf.float32),
      trainable=False,
      shape=[None] * np.ndim(value),
  )
