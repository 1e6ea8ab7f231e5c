"""Files of a policy's actions, for those who cannot ship the policy itself.

An .npz file with the arrays

    next_actions     [n, A]  pi at s' of each transition, in the data's order
    initial_actions  [m, A]  pi at s0 of each episode

of continuous actions. Discrete actions are whole numbers [n] and [m], or
probabilities [n, N] and [m, N]. There may be no NaN, also where s' is terminal:
any action will do there.
"""

import hashlib
import zipfile

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.policies import array_files
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import policy_requests

_NEXT, _INITIAL = 'next_actions', 'initial_actions'


def fits(path: str) -> bool:
  """Returns whether it is an .npz file with one of the two arrays."""
  if not path.endswith('.npz'):
    return False
  try:
    with zipfile.ZipFile(path) as archive:
      names = set(archive.namelist())
  except Exception:  # What damage raises depends on where it is.
    return False
  return not names.isdisjoint({f'{_NEXT}.npy', f'{_INITIAL}.npy'})


def check(path: str, field: str):
  """Raises a UserError that names the field if it is no such file."""
  if not fits(path):
    expected = f'expected an .npz file with {_NEXT} and {_INITIAL}'
    raise errors.UserError(field, path, expected)


class LoggedActionsPolicy(composed.DistributionPolicy):
  """A policy that is known at the next and start states of a data set.

  There it is as it is: no noise is added.

  Attributes:
    next_actions: [n, A] actions, or [n, N] probabilities.
    initial_actions: [m, A] actions, or [m, N] probabilities.
    clips: whether actions are clipped to the bounds.
    file_checksum: of the file.
  """

  def __init__(self, request: policy_requests.Request, arrays, checksum: str):
    super().__init__(*composed.tensor_specs(*request.specs), clip=False)
    self.source = request.source
    self.next_actions = tf.constant(arrays[_NEXT])
    self.initial_actions = tf.constant(arrays[_INITIAL])
    self.clips = request.bounds_known and not request.is_discrete
    self.file_checksum = checksum

  def not_known_there(self) -> errors.UserError:
    return errors.at(
        self.source,
        "the file has the policy's actions at s' and s0 of the data only, and"
        ' they are asked for elsewhere',
        'leave out true values, data collection and tabular methods, or give'
        ' the policy itself',
    )

  def transition_rows(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns the file's rows [B] of the transitions `index` [B].

    The data set may be a part of the one that the file was made for. A part
    shares the observations of the whole, by which its rows are known.

    Raises:
      UserError: if the file was made for data of another size.
    """
    episodes = self._episodes_so_far(dataset.observations.ages)  # [R]
    arrivals = tf.gather(dataset.positions, index) + 1  # [B]
    return arrivals - tf.gather(episodes, arrivals)

  def episode_rows(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns the file's rows [B] of the episodes `index` [B], likewise."""
    episodes = self._episodes_so_far(dataset.observations.ages)  # [R]
    return tf.gather(episodes, tf.gather(dataset.starts, index)) - 1

  def at_states(self, dataset, index: tf.Tensor) -> tf.Tensor:
    """Returns what the file has for the states of transitions `index` [B].

    Each is a start state, or the next state of the step before.
    """
    ages = dataset.observations.ages  # [R]
    positions = tf.gather(dataset.positions, index)  # [B]
    episodes = tf.gather(self._episodes_so_far(ages), positions)  # [B]
    is_start = tf.gather(ages, positions) == 0  # [B]
    before = tf.maximum(positions - episodes, 0)  # [B]; not used at starts
    return tf.where(
        is_start[:, None],
        tf.gather(self.initial_actions, episodes - 1),
        tf.gather(self.next_actions, before),
    )

  def _episodes_so_far(self, ages: tf.Tensor) -> tf.Tensor:
    with tf.init_scope():  # The same for each minibatch.
      episodes = tf.cumsum(tf.cast(ages == 0, tf.int32))  # [R]
      num_episodes = int(episodes[-1])
    num_transitions = len(ages) - num_episodes
    for name, array, size, what in (
        (_NEXT, self.next_actions, num_transitions, 'transitions'),
        (_INITIAL, self.initial_actions, num_episodes, 'episodes'),
    ):
      if len(array) != size:
        raise errors.at(
            self.source,
            f'{name} has {len(array)} rows, the data have {size} {what}',
            'expected one row for each, in the order of the data',
        )
    return episodes

  def _distribution(self, time_step, policy_state):
    raise self.not_known_there()


def load(request: policy_requests.Request) -> LoggedActionsPolicy:
  """Returns the policy of a file.

  Raises:
    UserError: if it cannot be read or does not fit the specs.
  """
  path, source = request.name, request.source
  arrays = array_files.read_named(path, 'target actions', source)
  missing = [name for name in (_NEXT, _INITIAL) if name not in arrays]
  if missing:
    raise errors.at(
        source,
        f'there is no array {missing[0]}, only {", ".join(arrays)}',
        f'expected {_NEXT} and {_INITIAL}',
    )
  arrays = {name: arrays[name] for name in (_NEXT, _INITIAL)}
  convert = _choices if request.is_discrete else _vectors
  request, arrays = convert(request, arrays)
  with open(path, 'rb') as file:
    checksum = hashlib.file_digest(file, 'sha256').hexdigest()
  return LoggedActionsPolicy(request, arrays, checksum)


def _vectors(request: policy_requests.Request, arrays: dict):
  """Returns continuous actions [n, A], and the request."""
  spec = request.specs[1]
  for name, array in arrays.items():
    if array.shape[1:] != tuple(spec.shape) or array.dtype.kind != 'f':
      raise _wrong(request, name, array, f'n rows of {base.describe(spec)}')
  return request, {n: a.astype(np.float32) for n, a in arrays.items()}


def _choices(request: policy_requests.Request, arrays: dict):
  """Returns probabilities [n, N], and the request with N actions."""
  for name, array in arrays.items():
    is_whole = array.ndim == 1 and array.dtype.kind in 'iu'
    if not is_whole and not (array.ndim == 2 and array.dtype.kind == 'f'):
      expected = 'whole numbers [n] or probabilities [n, N] of discrete actions'
      raise _wrong(request, name, array, expected)
  sizes = [_size(array) for array in arrays.values()]
  if all(array.ndim == 1 for array in arrays.values()):
    sizes.append(request.num_actions)  # Not each action need be taken.
  if not request.bounds_known or request.num_actions not in sizes:
    request = request.with_num_actions(max(sizes))
  found = {}
  for name, array in arrays.items():
    if array.ndim == 1:
      _check_range(request, name, array)
      array = np.eye(request.num_actions)[array.astype(np.int64)]
    elif array.shape[1] != request.num_actions:
      expected = f'probabilities of {request.num_actions} actions'
      raise _wrong(request, name, array, expected)
    _check_probabilities(request, name, array)
    found[name] = array.astype(np.float32)  # [n, N]
  return request, found


def _size(array: np.ndarray) -> int:
  """Returns how many discrete actions there are at least."""
  if array.ndim == 2:
    return array.shape[1]
  return int(array.max(initial=0)) + 1


def _check_range(request: policy_requests.Request, name: str, array):
  spec = request.specs[1]
  wrong = (array < spec.minimum) | (array > spec.maximum)
  if wrong.any():
    raise errors.at(
        request.source,
        f'{name} has the action {array[wrong][0]} in row {wrong.argmax()}',
        f'expected from {spec.minimum} to {spec.maximum}',
    )


def _check_probabilities(request: policy_requests.Request, name: str, array):
  sums = array.sum(axis=1)  # [n]
  wrong = ~np.isclose(sums, 1.0, rtol=0.0, atol=1e-3) | (array < 0.0).any(1)
  if wrong.any():
    row = int(wrong.argmax())
    raise errors.at(
        request.source,
        f'row {row} of {name} is {array[row].tolist()}, which sums to'
        f' {sums[row]:.6g}',
        'expected probabilities',
    )


def _wrong(request, name: str, array, expected: str) -> errors.UserError:
  found = f'{array.dtype.name}{list(array.shape)}'
  return errors.at(
      request.source, f'{name} is {found}', f'expected {expected}'
  )
