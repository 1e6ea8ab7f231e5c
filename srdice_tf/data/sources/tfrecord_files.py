"""Files that TF-Agents' TFRecordObserver wrote, each with its .spec."""

from collections.abc import Sequence
import glob
import os

import numpy as np
import tensorflow as tf
from tf_agents.utils import example_encoding
from tf_agents.utils import example_encoding_dataset
from tf_agents.utils import nest_utils

from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.data import logged
from srdice_tf.data.sources import failures
from srdice_tf.data.sources import own_specs
from srdice_tf.data.sources import trajectory_episodes
from srdice_tf.data.sources import trajectory_fields

_SPEC = '.spec'
_JPEG = b'\xff\xd8\xff'
_CHUNK = 1024
_EXPECTED = "expected a file of TF-Agents' TFRecordObserver"


def fits(name: str) -> bool:
  """Returns whether a name is that of such files."""
  if os.path.isfile(name) and _is_record(name):
    return True  # Without a .spec, `load` says so.
  return any(os.path.isfile(f'{file}{_SPEC}') for file in _meant(name))


def load(name: str | Sequence[str]) -> logged.Logged:
  """Reads the steps of one environment from each file.

  Each file is a stream of its own: an episode does not go on in the next file.

  Args:
    name: a file, a pattern such as 'logs/*.tfrecord', a directory whose files
      with a .spec are read, or a list of files.

  Raises:
    UserError: if a file is missing, damaged, or holds something else.
  """
  files = _files(name)
  spec, fields = _common_spec(files)
  maker = trajectory_episodes.EpisodeMaker()
  episodes, notes = [], dict.fromkeys(fields.notes)
  for file in files:
    columns, is_jpeg = _read(file, spec)
    episodes += maker.episodes(fields.steps(columns), file)
    if is_jpeg:
      notes['frames were compressed as JPEG: they are near those that the'
            ' policy saw, not equal'] = None
  notes = (*notes, *maker.notes)
  where = files[0] if len(files) == 1 else f'{files[0]} and others'
  trajectory_episodes.check_any(episodes, where, notes)
  return own_specs.described(
      datasets.Dataset.from_episodes(episodes),
      fields.observation_spec,
      fields.action_spec,
      where,
      notes,
  )


def _meant(name: str) -> list[str]:
  """Returns the files that a name means, whether they are there or not."""
  if os.path.isfile(name):
    return [name]
  if not os.path.isdir(name):
    return sorted(file for file in glob.glob(name) if not file.endswith(_SPEC))
  found = [os.path.join(name, file) for file in sorted(os.listdir(name))]
  with_spec = {
      file.removesuffix(_SPEC) for file in found if file.endswith(_SPEC)
  }
  return sorted(with_spec | {file for file in found if _is_record(file)})


def _is_record(file: str) -> bool:
  """Whether a file's name says that it is one of records."""
  return '.tfrecord' in os.path.basename(file) and not file.endswith(_SPEC)


def _files(name: str | Sequence[str]) -> list[str]:
  """Returns the files that a name means, each of which is there."""
  if isinstance(name, os.PathLike):
    name = os.fspath(name)
  files = _meant(name) if isinstance(name, str) else list(name)
  if not files:
    raise errors.UserError(
        'data', name, f'there is no file with a {_SPEC} beside it; {_EXPECTED}'
    )
  for file in files:
    if not os.path.isfile(file):
      raise errors.at(file, 'there is no such file', _EXPECTED)
    if not os.path.isfile(f'{file}{_SPEC}'):
      raise errors.at(
          f'{file}{_SPEC}',
          'there is no such file',
          'TFRecordObserver writes it beside its data, copy both',
      )
  return files


def _common_spec(files: Sequence[str]):
  """Returns the spec of the files, and where its parts are."""
  first = None
  for file in files:
    spec = _read_spec(f'{file}{_SPEC}')
    if first is None:
      first = spec
      fields = trajectory_fields.TrajectoryFields(spec, f'{file}{_SPEC}')
    elif spec != first:
      raise errors.at(
          f'{file}{_SPEC}',
          f'its spec is not that of {files[0]}{_SPEC}',
          'expected files of one environment and one policy',
      )
  return first, fields


def _read_spec(path: str):
  try:
    return example_encoding_dataset.parse_encoded_spec_from_file(path)
  except StopIteration as error:
    raise errors.at(
        path, 'it is empty or cut', 'copy it again, with its data'
    ) from error
  except Exception as error:  # Protocol buffers have errors of their own.
    raise errors.at(
        path,
        f'it cannot be read ({failures.reason(error)})',
        'expected the spec that TFRecordObserver writes beside its data',
    ) from error


def _read(file: str, spec) -> tuple[list[np.ndarray], bool]:
  """Returns the columns [N, ...] of a file, and whether frames are JPEG."""
  is_jpeg = _has_jpeg(file, spec)
  try:
    decode = example_encoding.get_example_decoder(spec, compress_image=is_jpeg)
  except (TypeError, ValueError) as error:
    raise errors.at(f'{file}{_SPEC}', failures.reason(error)) from error
  decode = tf.autograph.experimental.do_not_convert(decode)  # Takes long.
  steps = tf.data.TFRecordDataset(file).map(decode)
  try:
    parts = [
        tf.nest.flatten(chunk)
        for chunk in steps.batch(_CHUNK).as_numpy_iterator()
    ]
  except tf.errors.InvalidArgumentError as error:
    raise errors.at(
        file,
        f'step {_readable(steps)} is not as its {_SPEC} says'
        f' ({failures.reason(error)})',
        f'expected {_describe(spec)}',
    ) from error
  except tf.errors.DataLossError as error:
    raise _damaged(file, _readable(steps), error) from error
  if not parts:
    raise errors.at(file, 'there are no steps', _EXPECTED)
  return [np.concatenate(columns) for columns in zip(*parts)], is_jpeg


def _readable(steps: tf.data.Dataset) -> int:
  """Returns how many steps come before the one that cannot be read."""
  count = 0
  try:
    for _ in steps:
      count += 1
  except (tf.errors.InvalidArgumentError, tf.errors.DataLossError):
    pass
  return count


def _has_jpeg(file: str, spec) -> bool:
  """Returns whether the first record holds pictures that are compressed."""
  sizes = [
      each.shape.num_elements()
      for each in tf.nest.flatten(spec)
      if each.dtype == tf.uint8 and each.shape.rank == 3
  ]
  try:
    for record in tf.data.TFRecordDataset(file).take(1).as_numpy_iterator():
      features = tf.train.Example.FromString(record).features.feature.values()
      return bool(sizes) and any(
          value.startswith(_JPEG) and len(value) not in sizes
          for feature in features
          for value in feature.bytes_list.value
      )
  except tf.errors.DataLossError as error:
    raise _damaged(file, 0, error) from error
  except Exception as error:  # Protocol buffers have errors of their own.
    raise errors.at(
        file, 'its records are no tf.train.Example', _EXPECTED
    ) from error
  return False


def _damaged(file: str, count: int, error: Exception) -> errors.UserError:
  if not count and 'corrupted' in str(error):
    return errors.at(file, 'it is no TFRecord file', _EXPECTED)
  return errors.at(
      file,
      f'it is cut or damaged after {count:,} steps ({failures.reason(error)})',
      'copy or write it again',
  )


def _describe(spec) -> str:
  """Returns the keys of a record and what they hold, as one line."""
  return ', '.join(
      f'{key} {each.dtype.name}{each.shape.as_list()}'
      for key, each in nest_utils.flatten_with_joined_paths(spec)
  )
