"""Minibatches of logged data, with their shapes."""

from typing import NamedTuple

import tensorflow as tf


class TransitionBatch(NamedTuple):
  """A minibatch of B transitions (s, a, r, s').

  Attributes:
    states: [B, ...]
    actions: [B, A] float32, or [B] int64 if discrete.
    rewards: [B] float32.
    next_states: [B, ...]
    not_done: [B] float32; 0 where s' is terminal, else 1, also at time limits.
    index: [B] int32, numbers of the transitions in the data set.
  """

  states: tf.Tensor
  actions: tf.Tensor
  rewards: tf.Tensor
  next_states: tf.Tensor
  not_done: tf.Tensor
  index: tf.Tensor


class InitialBatch(NamedTuple):
  """A minibatch of B start states.

  Attributes:
    states: [B, ...]
    index: [B] int32, numbers of the start states in the data set.
  """

  states: tf.Tensor
  index: tf.Tensor
