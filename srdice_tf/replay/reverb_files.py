"""What Reverb writes into the directory of a checkpoint."""

import os
import re

from reverb.cc import schema_pb2
import tensorflow as tf

from srdice_tf.replay import reverb_tables

_ITEMS = 'items.tfrecord'
_DONE = 'DONE'  # Written last.
FILES = frozenset((_DONE, _ITEMS, 'chunks.tfrecord', 'tables.tfrecord'))
# Reverb names a checkpoint by the time: names sort by age.
_NAME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d')
# Our own marks: a file in a checkpoint that dataset.json does not name yet, and
# the ending of the name of a checkpoint that is being removed.
NEW, REMOVED = 'NEW', '.removed'


def is_whole(path: str) -> bool:
  """Returns whether Reverb has written all of a checkpoint."""
  return all(os.path.isfile(os.path.join(path, name)) for name in FILES)


def is_like_one(path: str) -> bool:
  """Returns whether a directory has the name and files of a checkpoint."""
  name = os.path.basename(path).removesuffix(REMOVED)
  return bool(_NAME.fullmatch(name)) and (
      set(os.listdir(path)) <= FILES | {NEW}
  )


def is_marked(path: str) -> bool:
  """Returns whether a checkpoint has one of our marks."""
  return is_like_one(path) and (
      path.endswith(REMOVED) or os.path.exists(os.path.join(path, NEW))
  )


def counts(path: str) -> dict[str, int]:
  """Returns how many transitions and episodes a checkpoint holds."""
  num_transitions = num_episodes = 0
  records = tf.data.TFRecordDataset(os.path.join(path, _ITEMS), 'ZLIB')
  for record in records.as_numpy_iterator():
    item = schema_pb2.PrioritizedItem.FromString(record)
    if item.table == reverb_tables.SEGMENTS:
      transitions, episodes = reverb_tables.counts_of(item.priority)
      num_transitions += transitions
      num_episodes += episodes
  return {'transitions': num_transitions, 'episodes': num_episodes}
