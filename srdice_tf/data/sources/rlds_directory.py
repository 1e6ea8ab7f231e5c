"""A directory of an RLDS data set, as TensorFlow Datasets writes them.

A step of RLDS has an observation, the action taken there and the reward that
came of it; the last step of an episode has only an observation that counts.
"""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os

import numpy as np
from tf_agents.specs import tensor_spec

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.data import episode_rows
from srdice_tf.data import logged
from srdice_tf.data.sources import failures
from srdice_tf.data.sources import own_specs

_FILES = 'dataset_info.json', 'features.json'
_NEEDED = 'observation', 'action', 'reward', 'is_last', 'is_terminal'
_FLAGS = 'is_first', 'is_last', 'is_terminal'
_OPTIONAL = 'is_first', 'discount', 'log_probability'
_CHUNK = 1024
_NOTES = {
    'startless': (
        '{:,} episodes are left out: is_first is not set in their first steps'
    ),
    'short': '{:,} episodes are left out: they have a single observation',
    'open': (
        'the last steps of {:,} episodes are left out: is_last is not set, so'
        ' the observations after them are not there'
    ),
    'discounted': (
        'the discounts of {:,} episodes do not agree with is_terminal, which'
        ' decides'
    ),
}


def fits(name: str) -> bool:
  """Returns whether a name is that of such a directory."""
  return all(os.path.isfile(os.path.join(name, file)) for file in _FILES)


def load(directory: str) -> logged.Logged:
  """Reads all episodes of all splits, in the order of the files.

  Args:
    directory: with dataset_info.json and features.json.

  Raises:
    UserError: if TensorFlow Datasets is not installed, or if the directory is
      damaged or holds no episodes.
  """
  library = _library(directory)
  builder = _builder(library, directory)
  features = _step_features(builder.info.features, directory)
  specs = {name: _spec(feature) for name, feature in features.items()}
  _check_specs(specs, directory)
  used = [name for name in (*_NEEDED, *_OPTIONAL) if name in specs]
  counts, episodes = collections.Counter(), []
  for where, steps in _read(library, builder, used, directory):
    episode = _episode(steps, counts, where)
    if episode is not None:
      episodes.append(episode)
  notes = _notes(counts, builder.info.splits)
  if not episodes:
    found = '; '.join(['there is no episode', *notes])
    raise errors.at(directory, found, 'expected episodes with steps')
  return own_specs.described(
      datasets.Dataset.from_episodes(episodes),
      specs['observation'],
      specs['action'],
      directory,
      notes,
  )


def _library(directory: str):
  try:
    import tensorflow_datasets  # Only this source needs it.
  except ImportError as error:
    raise errors.at(
        directory,
        f'reading it needs tensorflow_datasets ({error})',
        f'install it with {commands.install("rlds")}',
    ) from error
  return tensorflow_datasets


def _builder(library, directory: str):
  """Returns what reads the directory."""
  for file in _FILES:
    if not os.path.isfile(os.path.join(directory, file)):
      raise errors.at(
          os.path.join(directory, file),
          'there is no such file',
          'expected a directory that TensorFlow Datasets wrote',
      )
  with _reading(directory):
    builder = library.builder_from_directory(directory)
    splits = builder.info.splits
  if not splits:
    raise errors.at(directory, 'there are no splits', 'expected episodes')
  return builder


@contextlib.contextmanager
def _reading(where: str):
  """Turns what TensorFlow Datasets raises into one line."""
  try:
    yield
  except errors.UserError:
    raise
  except Exception as error:  # It raises what json, protobuf and files do.
    raise errors.at(
        where,
        f'TensorFlow Datasets cannot read it ({failures.reason(error)})',
        'it is cut or damaged, copy or write it again',
    ) from error


def _step_features(features, directory: str) -> dict:
  """Returns the features of a step by name."""
  steps = features['steps'] if 'steps' in features else None
  found = getattr(steps, 'feature', None)
  if found is None or not hasattr(found, 'items'):
    raise errors.at(
        directory,
        f'its examples have {", ".join(features) or "no features"}',
        'expected episodes with steps, as RLDS has them',
    )
  return dict(found.items())


def _spec(feature):
  """Returns the spec of a feature, with bounds where it has some."""
  spec = feature.get_tensor_spec()
  info = feature.get_tensor_info()
  minimum = getattr(info, 'minimum', None)
  maximum = getattr(info, 'maximum', None)
  if getattr(feature, 'num_classes', None):
    minimum, maximum = 0, feature.num_classes - 1
  if minimum is None or maximum is None:
    return spec
  return tensor_spec.BoundedTensorSpec(spec.shape, spec.dtype, minimum, maximum)


def _check_specs(specs: Mapping, directory: str):
  """Raises an error unless steps have what an episode needs."""
  missing = [name for name in _NEEDED if name not in specs]
  if missing:
    raise errors.at(
        directory,
        f'its steps have {", ".join(specs)}',
        f'expected {", ".join(missing)} too',
    )
  for name in ('observation', 'action', 'reward'):
    own_specs.check_plain(name, specs[name], directory)
  own_specs.check_actions('action', specs['action'], directory)
  for name in ('reward', 'discount', 'log_probability', *_FLAGS):
    shape = getattr(specs.get(name), 'shape', None)
    if name in specs and (shape is None or shape.rank):
      raise errors.at(
          directory, f'{name} has the shape {shape}', 'expected a single number'
      )


def _read(library, builder, names, directory: str) -> Iterator[tuple]:
  """Yields what errors call each episode, and its steps [T, ...] by name."""
  config = library.ReadConfig(interleave_cycle_length=1, try_autocache=False)
  for split in builder.info.splits:
    where = f'{directory}: split {split}'
    with _reading(where):
      # It counts the episodes itself, and fails if there are fewer.
      examples = builder.as_dataset(
          split=split, shuffle_files=False, read_config=config
      )
      chosen = examples.map(lambda example: _chosen(example['steps'], names))
      for i, steps in enumerate(chosen):
        columns = _columns(steps, names)
        if columns:
          yield f'{where}: episode {i}', columns


def _chosen(steps, names):
  """Returns the steps of one episode with what is used, in a graph."""
  choose = lambda step: {name: step[name] for name in names}
  if isinstance(steps, Mapping):  # A Sequence instead of a Dataset.
    return choose(steps)
  return steps.map(choose).batch(_CHUNK)


def _columns(steps, names) -> dict[str, np.ndarray]:
  """Returns the steps of one episode; nothing if it has none."""
  chunks = [steps] if isinstance(steps, Mapping) else list(steps)
  if not chunks:
    return {}
  return {
      name: np.concatenate([chunk[name].numpy() for chunk in chunks])
      for name in names
  }


def _episode(
    steps: Mapping[str, np.ndarray], counts: collections.Counter, where: str
) -> episode_rows.Episode | None:
  """Returns the episode of these steps; None if it cannot be used.

  Args:
    steps: [T + 1, ...] by name.
    counts: of what is not as it could be.
    where: what errors call the episode.
  """
  _check_flags(steps, where)
  length = len(steps['is_last']) - 1
  if not steps.get('is_first', [True])[0]:
    counts['startless'] += 1
    return None
  if length < 1:
    counts['short'] += 1
    return None
  is_terminal = bool(steps['is_terminal'][-1])
  counts['open'] += int(not (steps['is_last'][-1] or is_terminal))
  expected = np.ones(length, bool)  # Whether a discount is above 0.
  expected[-1] = not is_terminal
  discounts = steps.get('discount', expected)[:length]
  counts['discounted'] += int(np.any((discounts > 0) != expected))
  logs = steps.get('log_probability')
  return episode_rows.Episode(
      observations=steps['observation'],
      actions=steps['action'][:length],
      rewards=steps['reward'][:length],
      is_terminal=is_terminal,
      log_probabilities=None if logs is None else logs[:length],
  )


def _check_flags(steps: Mapping[str, np.ndarray], where: str):
  """Raises an error if an episode begins or ends in the middle."""
  for name, inner in (
      ('is_first', slice(1, None)),
      ('is_last', slice(None, -1)),
      ('is_terminal', slice(None, -1)),
  ):
    found = np.flatnonzero(steps.get(name, np.zeros(0))[inner])
    if found.size:
      step = found[0] + (inner.start or 0)
      raise errors.at(
          where,
          f'{name} is set in step {step} of {len(steps["is_last"])}',
          'expected in the first step only'
          if name == 'is_first'
          else 'expected in the last step only',
      )


def _notes(counts: collections.Counter, splits: Mapping) -> tuple[str, ...]:
  notes = [
      text.format(counts[name]) for name, text in _NOTES.items() if counts[name]
  ]
  if len(splits) > 1:
    notes.append(f'all splits are read: {", ".join(splits)}')
  return tuple(notes)
