"""What flows from the data to the estimators, with its shapes."""

from typing import NamedTuple

import tensorflow as tf


class Batch(NamedTuple):
  """A minibatch of B transitions (s, a, r, s').

  Attributes:
    states: [B, ...]
    actions: [B, A] float32, or [B] int64 if discrete.
    rewards: [B] float32.
    next_states: [B, ...]
    not_done: [B] float32; 0 where s' is terminal, 1 otherwise, time-outs too.
    index: [B] int32, rows of the data set; None where it is streamed.
  """

  states: tf.Tensor
  actions: tf.Tensor
  rewards: tf.Tensor
  next_states: tf.Tensor
  not_done: tf.Tensor
  index: tf.Tensor | None = None


class InitialBatch(NamedTuple):
  """A minibatch of B start states.

  Attributes:
    states: [B, ...]
    index: [B] int32, rows of the start states; None where streamed.
  """

  states: tf.Tensor
  index: tf.Tensor | None = None
