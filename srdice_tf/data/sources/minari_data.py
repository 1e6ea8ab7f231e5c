"""Data sets of Minari, by id from its local cache or by their directory.

Nothing is downloaded, and nothing is written.
"""

from collections.abc import Iterator
import os

from gymnasium import spaces
import minari
from minari.dataset import minari_storage
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf import errors
from srdice_tf.data import arrays
from srdice_tf.data import data_specs
from srdice_tf.data import datasets
from srdice_tf.data import episode_rows
from srdice_tf.data import logged
from srdice_tf.data import opening
from srdice_tf.data.sources import array_checks

_WANTED = 'expected a data set of Minari'
_SPACES = 'observation_space', 'action_space'


def load(name: str) -> logged.Logged:
  """Returns the data of 'minari:ID', or of a directory.

  Args:
    name: of a data set in MINARI_DATASETS_PATH or ~/.minari/datasets, or the
      path of one, with data/metadata.json in it.

  Raises:
    UserError: if it is not there, is damaged, or has spaces of another kind.
  """
  place = _directory(name)
  source = _open(place)
  observation_spec = _observation_spec(source.observation_space, place)
  action_spec = _action_spec(source.action_space, place)
  dataset = datasets.Dataset.from_episodes(
      _episodes(source, place, (observation_spec, action_spec))
  )
  notes, env_id = _notes(source, observation_spec, action_spec)
  is_bounded = isinstance(action_spec, tensor_spec.BoundedTensorSpec)
  if not is_bounded:
    action_spec = data_specs.action_spec(dataset)
  return logged.Logged(
      dataset=dataset,
      observation_spec=observation_spec,
      action_spec=action_spec,
      bounds_known=is_bounded,
      notes=notes,
      env_id=env_id,
  )


def _open(place: str) -> minari.MinariDataset:
  try:
    metadata = minari_storage.MinariStorage.read_raw_metadata(place)
    missing = [name for name in _SPACES if name not in metadata]
    if missing:  # Minari would make the environment to ask it.
      raise ValueError(f'{minari_storage.METADATA_FILE_NAME} has no'
                       f' {missing[0]}')
    return minari.MinariDataset(place)
  except Exception as error:  # What damage raises depends on where it is.
    raise array_checks.unreadable(place, error, expected=_WANTED) from error


def _directory(name: str) -> str:
  """Returns the directory that holds metadata.json and the data."""
  if not name.startswith(opening.MINARI):
    inner = os.path.join(name, 'data')
    return inner if os.path.isdir(inner) else name
  dataset_id = name.removeprefix(opening.MINARI)
  # Minari's own function would make the directory of its cache.
  root = os.environ.get('MINARI_DATASETS_PATH') or os.path.expanduser(
      '~/.minari/datasets'
  )
  place = os.path.join(root, dataset_id, 'data')
  if not dataset_id or not os.path.isdir(place):
    raise errors.UserError(
        'data',
        name,
        f'not in {root}; download it first with: minari download'
        f' {dataset_id or "ID"}',
    )
  return place


def _observation_spec(
    space: spaces.Space, place: str
) -> tensor_spec.BoundedTensorSpec:
  """Returns the spec; discrete states are numbered from 0."""
  if isinstance(space, spaces.Discrete):
    return _numbered(space, 'observation')
  if isinstance(space, spaces.Box) and space.shape:
    dtype = array_checks.row_type(np.empty((0, *space.shape), space.dtype))
    bounds = _narrowed(space.low), _narrowed(space.high)
    return tensor_spec.BoundedTensorSpec(
        space.shape, dtype, *bounds, 'observation'
    )
  raise errors.at(
      place,
      f'the observation space is {_text(space)}',
      'expected Box or Discrete; flatten nested ones first',
  )


def _action_spec(space: spaces.Space, place: str) -> tf.TensorSpec:
  """Returns the spec, without bounds if those of the space are not finite."""
  if isinstance(space, spaces.Discrete):
    return _numbered(space, 'action')
  is_box = isinstance(space, spaces.Box) and len(space.shape) == 1
  if not is_box or space.dtype.kind != 'f':
    raise errors.at(
        place,
        f'the action space is {_text(space)}',
        'expected Discrete, or a Box of floats [A]',
    )
  bounds = _narrowed(space.low), _narrowed(space.high)
  if not np.isfinite(bounds).all():
    return tf.TensorSpec(space.shape, tf.float32, 'action')
  return tensor_spec.BoundedTensorSpec(
      space.shape, np.float32, *bounds, 'action'
  )


def _numbered(space: spaces.Discrete, name: str):
  return tensor_spec.BoundedTensorSpec((), np.int64, 0, space.n - 1, name)


def _narrowed(bound: np.ndarray) -> np.ndarray:
  if bound.dtype.kind != 'f':
    return bound
  with np.errstate(over='ignore'):
    return bound.astype(np.float32)


def _text(space: spaces.Space) -> str:
  """Returns the kind of a space, with the names of its parts."""
  kind = type(space).__name__
  if isinstance(space, spaces.Dict):
    return f'{kind}({", ".join(space.spaces)})'
  if isinstance(space, spaces.Box):
    return f'{kind} of {space.dtype}{list(space.shape)}'
  return kind


def _episodes(
    source: minari.MinariDataset, place: str, specs
) -> Iterator[episode_rows.Episode]:
  """Yields the episodes, each of them checked."""
  firsts = [
      getattr(space, 'start', 0)
      for space in (source.observation_space, source.action_space)
  ]
  if not source.total_episodes:
    raise errors.at(place, 'there are no episodes')
  episodes = iter(source.iterate_episodes())
  for number in range(source.total_episodes):
    where = f'{place}: episode {number}'
    try:
      found = next(episodes)
    except Exception as error:  # A missing key, a file that was cut, ...
      raise array_checks.unreadable(
          where, error, expected='expected observations, actions, rewards,'
          ' terminations and truncations'
      ) from error
    yield _episode(found, array_checks.Origin(where), specs, firsts)


def _episode(
    found: minari.EpisodeData, origin: array_checks.Origin, specs, firsts
) -> episode_rows.Episode:
  size = len(found.rewards)
  parts = 'observations', 'actions'
  observations, actions = (
      _of_spec(key, getattr(found, key), length, spec, first, origin)
      for key, length, spec, first in zip(
          parts, (size + 1, size), specs, firsts
      )
  )
  fields = array_checks.checked(
      {
          'observations': observations[1:],
          'actions': actions,
          'rewards': found.rewards,
          'terminals': found.terminations,
          'timeouts': found.truncations,
      },
      origin,
  )
  is_end = np.asarray(fields['terminals'] + fields['timeouts'], bool)
  if is_end[:-1].any():
    raise origin.error(
        f'it ends in step {np.argmax(is_end)}, but has {size} steps',
        'expected terminations and truncations in the last step only',
    )
  return episode_rows.Episode(
      observations, actions, fields['rewards'], bool(fields['terminals'][-1])
  )


def _of_spec(
    key: str,
    values,
    length: int,
    spec: tf.TensorSpec,
    first: int,
    origin: array_checks.Origin,
) -> np.ndarray:
  """Returns values in the type of a spec, if they fit to it and are finite.

  Args:
    key: of the values.
    values: what the data set has for an episode.
    length: how many there should be.
    spec: of one of them.
    first: what their numbers begin with, if they are discrete.
    origin: of the values.
  """
  values = arrays.numbers(key, values, where=origin.where)
  expected = length, *spec.shape
  if values.shape != expected:
    raise origin.error(
        f'{key} have the shape {values.shape}',
        f'expected {expected}; there is one observation more than actions',
    )
  is_number = spec.shape.rank == 0  # The space is discrete.
  if is_number and values.dtype.kind == 'f':
    raise origin.error(f'{key} are of {values.dtype}', 'expected whole numbers')
  values = values - first if first else values
  array_checks.check_values(key, values, origin)
  if is_number and values.max(initial=0) > spec.maximum:
    raise origin.error(
        f'{key} has the value {values.max() + first}',
        f'its space ends with {spec.maximum + first}',
    )
  return values.astype(spec.dtype.as_numpy_dtype, copy=False)


def _notes(source: minari.MinariDataset, observation_spec, action_spec):
  """Returns what is said about a data set, and its environment."""
  notes, env_id = [], ''
  if not isinstance(action_spec, tensor_spec.BoundedTensorSpec):
    notes.append(
        'the action space has no finite bounds: those of the logged actions are'
        ' taken'
    )
  if len(observation_spec.shape) == 3 and observation_spec.dtype.is_integer:
    notes.append('Minari keeps pictures as JPEG, which changes them a little')
  if source.env_spec is not None:
    env_id = source.env_spec.id
    arguments = set(source.env_spec.kwargs) - {'render_mode'}
    if arguments or source.env_spec.additional_wrappers:
      # Made by its id alone, it would be another environment.
      notes.append(
          f'the environment was {env_id} with arguments or wrappers of its own'
      )
      env_id = ''
  return tuple(notes), env_id
