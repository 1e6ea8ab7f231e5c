"""The specs of observations and actions, as far as data show them."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf.data import datasets

_NAMES = 'observation', 'action'


def observation_spec(dataset: datasets.Dataset) -> tf.TensorSpec:
  """Returns the spec of one observation.

  Floats have no bounds. States that are single whole numbers go from 0 to the
  largest one in the data, pictures of bytes from 0 to 255.
  """
  rows = dataset.observations.rows
  shape = tuple(rows.shape[1:])
  if dataset.observations.frame_stack:
    shape = *shape, dataset.observations.frame_stack
  if not rows.dtype.is_integer:
    return tf.TensorSpec(shape, rows.dtype, _NAMES[0])
  largest = tf.reduce_max(rows).numpy() if not shape else rows.dtype.max
  return tensor_spec.BoundedTensorSpec(shape, rows.dtype, 0, largest, _NAMES[0])


def action_spec(dataset: datasets.Dataset) -> tensor_spec.BoundedTensorSpec:
  """Returns the spec of one action, with the bounds of the logged ones.

  Discrete actions go from 0 to the largest one in the data; each dimension of
  a continuous one has bounds of its own.
  """
  actions = dataset.actions.numpy()  # [n, A] or [n]
  is_discrete = np.issubdtype(actions.dtype, np.integer)
  return tensor_spec.BoundedTensorSpec(
      actions.shape[1:],
      actions.dtype,
      minimum=0 if is_discrete else actions.min(axis=0),
      maximum=actions.max(axis=0),
      name=_NAMES[1],
  )
