"""A running Reverb server that TF-Agents' own observers fill."""

from collections.abc import Iterator
import math
import time

import numpy as np
import reverb
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.data import logged
from srdice_tf.data.sources import failures
from srdice_tf.data.sources import own_specs
from srdice_tf.data.sources import sequence_chains
from srdice_tf.data.sources import trajectory_episodes
from srdice_tf.data.sources import trajectory_fields
from srdice_tf.replay import waiting

TIMEOUT_SECONDS = 30.0
_SLICE_SECONDS = 0.5
_ANY_ORDER = 'uniform', 'prioritized'
_LEAST = -1e300  # The rate limiter MinSize lets samples go below it.
_MOST_STARTLESS = 0.5


def load(
    address: str, table: str = '', timeout: float = TIMEOUT_SECONDS
) -> logged.Logged:
  """Reads each item of a table once; the table keeps all of them.

  Reverb cannot list a table: this samples until it has seen each item, about
  m (ln m + 0.6) samples for m items. The server counts them, and nothing else
  changes. A table where samples use items up, or wait for inserts, is refused.

  Args:
    address: of the server, host:port.
    table: its name; may be '' if the server has one table.
    timeout: seconds to wait for an answer.

  Raises:
    UserError: if the server does not answer, if the table is not there, is
      still written to or cannot be read whole, or if its items are no steps of
      TF-Agents.
  """
  source = _Table(address, table, timeout)
  before = source.info()
  _check_readable(before, source.where)
  items = source.items(before)
  first = next(items)
  fields = _fields(before.signature, first, source.where)
  chains = sequence_chains.SequenceChains(
      fields.place('step_type'), source.where
  )
  chains.add(first)
  for item in items:
    chains.add(item)
  source.check_unchanged(before)
  return _logged(chains, fields, source.where)


class _Table:
  """A table of a server, read within a timeout.

  Attributes:
    where: what errors call it.
  """

  def __init__(self, address: str, table: str, timeout: float):
    self._address = address
    self._timeout = timeout
    self._client = reverb.Client(address)
    tables = self._tables()
    if not table and len(tables) == 1:
      table = next(iter(tables))
    if table not in tables:
      raise errors.UserError(
          'reverb_table',
          repr(table),
          f'the server at {address} has the tables'
          f' {", ".join(sorted(tables)) or "(none)"}',
      )
    self._name = table
    self.where = f'table {table} of the Reverb server at {address}'

  def info(self):
    """Returns what the server says about the table."""
    info = self._tables().get(self._name)
    if info is None:
      raise errors.at(self.where, 'it is not there any more')
    return info

  def _tables(self) -> dict:
    # Reverb takes whole seconds. Its own timeout ends the waiting thread.
    return self._call(self._client.server_info, math.ceil(self._timeout))

  def items(self, before) -> Iterator[list[np.ndarray]]:
    """Yields the columns of each item once.

    Args:
      before: what the server said about the table.
    """
    size, seen = before.current_size, set()
    # The chance to miss an item of a uniform sampler is e^-30.
    allowed = int(size * (np.log(size + 1.0) + 30.0)) + 1
    for item in self._samples(allowed, before):
      if item.info.key not in seen:
        seen.add(item.info.key)
        yield item.data
        if len(seen) == size:
          return
    raise errors.at(
        self.where,
        f'{size - len(seen):,} of {size:,} items were never sampled',
        'its sampler hardly ever gives them; expected a uniform one',
    )

  def _samples(self, count: int, before):
    """Yields samples, as long as nobody writes to the table.

    They are taken in slices of time: a thread for each would be slow.
    """
    samples = self._client.sample(self._name, count, emit_timesteps=False)
    found = [None]
    while found:
      self.check_unchanged(before)
      found = self._call(_some, samples)
      yield from found

  def check_unchanged(self, before):
    """Raises an error if somebody has written to the table."""
    after = self.info()
    new = _inserts(after) - _inserts(before)
    gone = before.current_size + new - after.current_size
    if new or gone:
      raise errors.at(
          self.where,
          f'it is still written to: {new:,} items came and {gone:,} went while'
          ' it was read',
          'wait until its writers have stopped',
      )

  def _call(self, function, *args):
    """Returns what a call of Reverb returns, within the timeout."""
    try:
      return waiting.within(self._timeout, function, *args)
    except (RuntimeError, TimeoutError, reverb.errors.ReverbError) as error:
      raise errors.UserError(
          'reverb_address',
          self._address,
          f'no Reverb server answers there ({failures.reason(error)})',
      ) from error


def _some(samples) -> list:
  """Returns the next samples, as many as come in a moment, at least one."""
  end = time.monotonic() + _SLICE_SECONDS
  found = []
  for sample in samples:
    found.append(sample)
    if time.monotonic() > end:
      break
  return found


def _inserts(info) -> int:
  return info.rate_limiter_info.insert_stats.completed


def _check_readable(info, where: str):
  """Raises an error unless all items can be sampled, and stay there."""
  if not info.current_size:
    raise errors.at(where, 'there are no items', 'expected steps of episodes')
  if info.max_times_sampled > 0:
    raise errors.at(
        where,
        f'its items are deleted when they were sampled'
        f' {info.max_times_sampled} times, so reading would change it',
        'expected max_times_sampled=0',
    )
  limiter = info.rate_limiter_info
  if limiter.min_diff > _LEAST:
    raise errors.at(
        where,
        'its rate limiter ties samples to inserts, so reading would change'
        ' when its writers and readers wait',
        'expected the rate limiter MinSize',
    )
  if info.current_size < limiter.min_size_to_sample:
    raise errors.at(
        where,
        f'it has {info.current_size:,} items and gives none before it has'
        f' {limiter.min_size_to_sample:,}',
    )
  sampler = info.sampler_options.WhichOneof('distribution')
  if sampler not in _ANY_ORDER and info.current_size > 1:
    raise errors.at(
        where,
        f'its sampler ({sampler}) gives one item again and again',
        'expected a uniform one',
    )


def _fields(signature, item, where: str) -> trajectory_fields.TrajectoryFields:
  """Returns where the parts of a step are in an item's columns."""
  if signature is not None:
    spec = _step_spec(signature, item, where)
  else:
    spec = trajectory_fields.in_order(
        [tf.TensorSpec(column.shape[1:], column.dtype) for column in item]
    )
    if spec is None:
      raise errors.at(
          where,
          f'it has no signature, and its items have {len(item)} columns',
          "expected a signature, or the 6 columns of TF-Agents' Trajectory"
          ' without policy_info',
      )
  return trajectory_fields.TrajectoryFields(spec, where)


def _step_spec(signature, item, where: str):
  """Returns the spec of one step from the signature of sequences."""
  shapes = [each.shape for each in tf.nest.flatten(signature)]
  found = [column.shape for column in item]
  if len(shapes) == len(found):
    if all(map(tf.TensorShape.is_compatible_with, shapes, found)):
      return trajectory_fields.without_time(signature)
    # Observers do not check that signatures have the dimension of time.
    steps = [shape[1:] for shape in found]
    if all(map(tf.TensorShape.is_compatible_with, shapes, steps)):
      return signature
  raise errors.at(
      where,
      f'an item has the shapes {", ".join(map(str, found))}',
      f'its signature says {", ".join(map(str, shapes))}',
  )


def _logged(chains, fields, where: str) -> logged.Logged:
  """Returns the data of all items."""
  maker = trajectory_episodes.EpisodeMaker()
  episodes = []
  for columns in chains.streams():
    episodes += maker.episodes(fields.steps(columns), where)
  notes = (*fields.notes, *maker.notes)
  trajectory_episodes.check_any(episodes, where, notes)
  startless = maker.counts['startless']
  used = sum(len(episode.rewards) for episode in episodes)
  if startless > _MOST_STARTLESS * (startless + used):
    raise errors.at(
        where,
        f'its sequences cannot be put together: {startless:,} of'
        f' {startless + used:,} steps are of episodes whose start is not there',
        'expected sequences that overlap, with a stride_length below their'
        ' sequence_length, or whole episodes',
    )
  return own_specs.described(
      datasets.Dataset.from_episodes(episodes),
      fields.observation_spec,
      fields.action_spec,
      where,
      notes,
  )
