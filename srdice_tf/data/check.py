"""What makes logged data unusable, each in one line."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.data import datasets

_CHUNK = 8192


def check_usable(dataset: datasets.Dataset, where: str = 'data set'):
  """Raises an error if a data set cannot be learned from.

  Args:
    dataset: what the user gave.
    where: what the message calls it: its directory, server or argument.
  """
  if not isinstance(dataset, datasets.Dataset):
    raise errors.at(where, f'found {_kind(dataset)}', 'expected a data.Dataset')
  if not dataset.num_transitions:
    raise errors.at(where, 'there are no transitions')
  columns = {
      'rewards': dataset.rewards,
      'actions': dataset.actions,
      'not_done': dataset.not_done,
      'log_probabilities': dataset.log_probabilities,
  }
  for name, column in columns.items():
    if column is not None:
      _check_finite(column, name, where)
  other = np.setdiff1d(dataset.not_done.numpy(), [0.0, 1.0])
  if other.size:
    raise errors.at(
        where,
        f'not_done has the value {other[0]}',
        'terminal flags are 0 or 1',
    )
  for states in _all_states(dataset):
    if states.dtype.is_integer:
      return
    _check_finite(states, 'states', where)


def check_specs(dataset: datasets.Dataset, observation_spec, action_spec):
  """Raises an error if the data do not have the specs of a policy.

  Args:
    dataset: that `check_usable` has passed.
    observation_spec: of the policy.
    action_spec: of the policy.
  """
  first = tf.constant([0])
  state, action = dataset.states(first)[0], dataset.actions[0]
  for name, spec, found in (
      ('observations', observation_spec, state),
      ('actions', action_spec, action),
  ):
    is_same_kind = spec.dtype.is_integer == found.dtype.is_integer
    if found.shape != spec.shape or not is_same_kind:
      raise errors.at(
          'policy',
          f"its {name} are {_describe(spec)}, the data set's"
          f' {_describe(found)}',
      )
  if _is_number(action_spec):
    _check_range('actions', dataset.actions, action_spec)
  if _is_number(observation_spec):
    for states in _all_states(dataset):
      _check_range('states', states, observation_spec)


def _all_states(dataset: datasets.Dataset) -> Iterator[tf.Tensor]:
  """Yields states, next states and start states, in chunks [B, ...]."""
  for index in _chunks(dataset.num_transitions):
    yield dataset.states(index)
    yield dataset.next_states(index)
  for index in _chunks(dataset.num_initial_states):
    yield dataset.initial_states(index)


def _chunks(size: int) -> Iterator[tf.Tensor]:
  for begin in range(0, size, _CHUNK):
    yield tf.range(begin, min(begin + _CHUNK, size))


def _kind(value) -> str:
  if isinstance(value, type):
    return f'the class {value.__name__}'
  return type(value).__name__


def _describe(spec) -> str:
  """Returns type and shape, such as float32[3]."""
  return f'{spec.dtype.name}{list(spec.shape)}'


def _is_number(spec) -> bool:
  return spec.dtype.is_integer and spec.shape == ()


def _check_finite(values: tf.Tensor, name: str, where: str):
  values = values.numpy()
  if not np.issubdtype(values.dtype, np.floating):
    return
  count = int(np.sum(~np.isfinite(values)))
  if count:
    raise errors.at(where, f'{count} values of {name} are NaN or infinite')


def _check_range(name: str, values: tf.Tensor, spec):
  values = values.numpy()
  wrong = (values < spec.minimum) | (values > spec.maximum)
  if wrong.any():
    raise errors.at(
        'data set',
        f'{name} has the value {values[wrong][0]}',
        f'the policy has {name} from {spec.minimum} to {spec.maximum}',
    )
