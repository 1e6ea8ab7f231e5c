"""Specs as a source describes them, in the types that data sets have."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf import errors
from srdice_tf.data import arrays
from srdice_tf.data import check
from srdice_tf.data import datasets
from srdice_tf.data import logged

# Libraries write 'no bound' as the largest number of a type.
_HUGE, _HUGE_NUMBER = 1e30, 2**31 - 1


def check_plain(name: str, spec, where: str):
  """Raises an error unless a spec is that of one tensor of numbers.

  Args:
    name: what errors call it.
    spec: of anything, perhaps a nest of tensors.
    where: the file or server.
  """
  if not isinstance(spec, tf.TensorSpec):
    raise errors.at(
        where, f'{name} is {_kind(spec)}', 'expected one tensor, not a nest'
    )
  if not spec.shape.is_fully_defined():
    raise errors.at(
        where, f'{name} has the shape {spec.shape}', 'expected a fixed one'
    )
  if not (spec.dtype.is_floating or spec.dtype.is_integer):
    raise errors.at(
        where, f'{name} is of {spec.dtype.name}', 'expected numbers'
    )


def check_actions(name: str, spec: tf.TensorSpec, where: str):
  """Raises an error unless actions are what methods can take.

  Args:
    name: what errors call them.
    spec: of one action, that `check_plain` has passed.
    where: the file or server.
  """
  is_discrete = spec.dtype.is_integer
  if spec.shape.rank != (0 if is_discrete else 1):
    raise errors.at(
        where,
        f'{name} is {spec.dtype.name}{spec.shape.as_list()}',
        'expected a vector of floats, or one whole number',
    )
  bounds = _bounds(spec)
  if is_discrete and bounds and np.any(bounds[0] != 0):
    raise errors.at(
        where, f'{name} begins at {bounds[0]}', 'expected whole numbers from 0'
    )


def described(
    dataset: datasets.Dataset,
    observation_spec: tf.TensorSpec,
    action_spec: tf.TensorSpec,
    where: str,
    notes: tuple[str, ...] = (),
) -> logged.Logged:
  """Returns data with the specs of their source; checks both.

  What the source has no bounds for is taken from the data.

  Args:
    dataset: the data.
    observation_spec: of the source, bounded or not.
    action_spec: of the source, bounded or not.
    where: the file or server.
    notes: what was assumed or left out.

  Raises:
    UserError: if the data are empty, hold NaN or numbers that are none of the
      discrete actions.
  """
  check.check_usable(dataset, where)
  _check_discrete(dataset.actions.numpy(), action_spec, where)
  itself = logged.described_by_itself(dataset, notes)
  own_actions = _converted(action_spec, itself.action_spec)
  own_observations = _converted(observation_spec, itself.observation_spec)
  return logged.Logged(
      dataset=dataset,
      observation_spec=own_observations or itself.observation_spec,
      action_spec=own_actions or itself.action_spec,
      bounds_known=own_actions is not None,
      notes=notes,
  )


def _check_discrete(actions: np.ndarray, spec: tf.TensorSpec, where: str):
  if not spec.dtype.is_integer:
    return
  bounds = _bounds(spec)
  largest = bounds[1] if bounds else np.inf
  wrong = (actions < 0) | (actions > largest)
  if wrong.any():
    raise errors.at(
        where,
        f'action has the value {actions[wrong][0]}',
        f'expected whole numbers from 0 to {largest}'
        if bounds
        else 'expected whole numbers from 0',
    )


def _converted(spec: tf.TensorSpec, of_data: tf.TensorSpec):
  """Returns a bounded spec with the type of the data; None without bounds."""
  bounds = _bounds(spec)
  if bounds is None:
    return None
  dtype = arrays.converted_type(
      np.dtype(spec.dtype.as_numpy_dtype), 1 + spec.shape.rank
  )
  minimum, maximum = (
      np.broadcast_to(bound, spec.shape).astype(dtype) for bound in bounds
  )
  return tensor_spec.BoundedTensorSpec(
      spec.shape, dtype, minimum, maximum, of_data.name
  )


def _bounds(spec: tf.TensorSpec):
  """Returns minimum and maximum; None if one of them is missing."""
  # TensorFlow and TF-Agents have a class of bounded specs each.
  if not hasattr(spec, 'minimum'):
    return None
  bounds = np.asarray(spec.minimum), np.asarray(spec.maximum)
  limit = _HUGE if spec.dtype.is_floating else _HUGE_NUMBER
  is_bounded = np.all(bounds[0] > -limit) and np.all(bounds[1] < limit)
  return bounds if is_bounded else None


def _kind(spec) -> str:
  """Returns what a nest is, for messages."""
  names = getattr(spec, '_fields', None) or (
      sorted(map(str, spec)) if isinstance(spec, dict) else ()
  )
  if names:
    return f'a nest of {", ".join(names)}'
  return f'a nest of {len(spec)}' if hasattr(spec, '__len__') else str(spec)
