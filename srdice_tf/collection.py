"""Collects logged data: environments + policy -> TF-Agents driver -> Reverb.

What is collected depends on the seed and the number of environments only, not
on interruptions: episode k of environment i has its own seed, call k of the
policy has its own seed, and the stored rows themselves tell how far an
interrupted collection had come.
"""

import dataclasses
import hashlib
import json
import time

import numpy as np
from tf_agents.drivers import py_driver
from tf_agents.policies import tf_policy

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf import limits
from srdice_tf import ranges
from srdice_tf import resuming
from srdice_tf.logging import progress as progress_lib
from srdice_tf.policies import seeded
from srdice_tf.policies import settings
from srdice_tf.replay import client as client_lib
from srdice_tf.replay import descriptions
from srdice_tf.replay import reader
from srdice_tf.replay import rows
from srdice_tf.replay import server as server_lib
from srdice_tf.replay import tables
from srdice_tf.replay import writer as writer_lib

_CALLS_PER_RUN = 20
# Saving may take this share of the time at the most.
_SAVING_SHARE = 0.05
_TRANSITIONS_PER_ENV = 500
_MAX_ENVS = 25
# What one environment may collect in a minute: of so few transitions, cut
# episodes would be a large share.
_SMALL = 50_000
# Episodes with a later limit, as Atari's 27,000 steps, end by themselves.
_LATEST_LIMIT = 2000
_NUM_SEEDS = 2**31


@dataclasses.dataclass(frozen=True)
class CollectConfig(settings.BehaviourNoise):
  """What is collected; the numbers of the noise are the behaviour policy's.

  Attributes:
    env_id: the environment.
    policy: name of the base policy.
    policy_checksum: of its weights.
    setting: how the base policy is made the behaviour policy.
    num_transitions: to collect.
    seed: of everything random.
    num_envs: environments that step together.
    collector: number of this collector, where several fill one server.
  """

  env_id: str
  policy: str
  policy_checksum: str
  setting: str
  num_transitions: int = ranges.at_least(1)
  seed: int = ranges.seed(0)
  num_envs: int = ranges.between(1, limits.MOST_ENVS, 1)
  collector: int = ranges.between(0, seeded.NUM_STREAMS - 1, 0)

  def __post_init__(self):
    ranges.check(self)
    if self.num_envs > self.num_transitions:
      raise errors.UserError(
          f'--num_envs={self.num_envs}: more than'
          f' --num_transitions={self.num_transitions}; each environment stores'
          ' one at least.'
      )

  def description(self) -> dict:
    """Returns what a data set says of itself."""
    fields = dataclasses.asdict(self)
    del fields['env_id']
    return {'environment': environments.description(self.env_id), **fields}

  @property
  def stream_seed(self) -> int:
    """Another one for each seed and collector, of the first one the seed."""
    return self.seed + _NUM_SEEDS * self.collector

  @property
  def directory_name(self) -> str:
    """The name of a directory that no other data set has."""
    text = json.dumps(self.description(), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    name = f'{self.env_id}_{self.setting}_{self.num_transitions}'
    return f'{name}_seed{self.seed}_{digest}'.replace('/', '_')


def default_num_envs(env_id: str, num_transitions: int) -> int:
  """Returns enough environments for speed, each with a whole episode or more.

  Where the episodes of a small data set go on to their time limit, each is
  whole: no environment stops within one.
  """
  limit = environments.time_limit(env_id) or 0
  limit = limit if limit <= _LATEST_LIMIT else 0
  longest = max(_TRANSITIONS_PER_ENV, limit)
  most = int(np.clip(num_transitions // longest, 1, _MAX_ENVS))
  if not limit or num_transitions > _SMALL:
    return most
  whole = (n for n in range(most, 0, -1) if not num_transitions % (n * limit))
  return next(whole, most)


def codec_of(env) -> rows.Codec:
  """Returns the codec of an environment's rows."""
  specs = env.observation_spec(), env.action_spec()
  return rows.Codec(*specs, env.frame_stack)


def collect(
    config: CollectConfig,
    policy: tf_policy.TFPolicy,
    server: server_lib.ReplayServer | server_lib.RemoteServer,
    save_seconds: float = 30.0,
) -> dict:
  """Collects the data set, or what is missing of it.

  Args:
    config: what to collect.
    policy: the behaviour policy.
    server: the replay server to fill.
    save_seconds: time between two checkpoints, at least.

  Returns:
    The description of the data set, with counts and returns.

  Raises:
    UserError: if the server holds other data or fails.
  """
  claim(config, server)
  env = environments.load_batch(
      config.env_id,
      config.num_envs,
      config.stream_seed,
      count=progress_lib.foretell_envs,
  )
  codec = codec_of(env)
  streams = _read_streams(config, codec, server.client)
  py_policy = seeded.SeededPyPolicy(
      policy, config.num_envs, config.stream_seed
  )
  writer = writer_lib.BatchWriter(
      server.client,
      codec,
      config.num_envs,
      config.num_transitions,
      config.collector,
  )
  try:
    start = resuming.start(env, py_policy, writer, codec, streams)
    if writer.full:
      _ensure_saved(config, writer, server)
    else:
      _run(config, env, py_policy, writer, server, start, save_seconds)
  finally:
    env.close()
  return _description(config, writer)


def _read_streams(config, codec, client) -> list[reader.Stream]:
  """Returns what an earlier run of this collector has stored."""
  size = client.sizes()[tables.SEGMENTS]
  if not size:
    return []
  label = f'collect {config.env_id}: what is there'
  with progress_lib.Progress(size, 'segments', label) as bar:
    return reader.read_streams(
        client, codec, config.collector, lambda seen, _: bar.update(seen)
    )


def _ensure_saved(config, writer, server):
  """Has a server keep what is complete: its death must not lose it."""
  found = server.client.metadata()[config.collector]
  if found.get('status') == descriptions.COMPLETE:
    server.ensure_saved()
  else:
    server.client.put_metadata(_description(config, writer))
    server.save()


def _run(config, env, py_policy, writer, server, start, save_seconds):
  """Drives until the data set is full; saves now and then."""
  driver = py_driver.PyDriver(
      env,
      py_policy,
      observers=[],
      transition_observers=[writer],
      max_steps=_CALLS_PER_RUN * config.num_envs,
  )
  time_step, policy_state = start
  saver = _Saver(server, save_seconds)
  progress = progress_lib.Progress(
      config.num_transitions,
      unit='transitions',
      label=f'collect {config.env_id}',
      initial=writer.statistics.num_transitions,
  )
  with interrupts.Deferred() as interrupt, progress as bar:
    while not writer.full and interrupt.received is None:
      try:
        time_step, policy_state = driver.run(time_step, policy_state)
      except Exception as error:
        # What was collected is kept, unless it is the server that failed.
        if not isinstance(error, client_lib.NoAnswerError):
          saver.save(writer, _description(config, writer))
        raise
      bar.update(
          writer.statistics.num_transitions,
          episodes=writer.statistics.num_episodes,
      )
      if saver.is_due():
        saver.save(writer, _description(config, writer))
    saver.save(writer, _description(config, writer))
  interrupt.reraise()


def _description(config: CollectConfig, writer) -> dict:
  is_full = writer.full
  return {
      **config.description(),
      'status': descriptions.COMPLETE if is_full else descriptions.COLLECTING,
      'counts': writer.statistics.summary(),
  }


class _Saver:
  """Decides when to save, so that saving costs a small share of the time."""

  def __init__(self, server, min_seconds: float):
    self._server = server
    self._min_seconds = min_seconds
    self._due = time.monotonic() + min_seconds

  def is_due(self) -> bool:
    return time.monotonic() >= self._due

  def save(self, writer, description):
    start = time.monotonic()
    writer.flush()
    self._server.client.put_metadata(description)
    self._server.save()
    end = time.monotonic()
    self._due = end + max(self._min_seconds, (end - start) / _SAVING_SHARE)


def claim(config: CollectConfig, server):
  """Checks that the server's data are of this kind; describes new data.

  Raises:
    UserError: naming the field in which the data differ.
  """
  wanted = config.description()
  found = server.client.metadata()
  for collector, description in found.items():
    is_own = collector == config.collector
    for field in wanted if is_own else ('environment',):
      if description.get(field) != wanted[field]:
        raise errors.UserError(
            f'the data set there differs in {field}: it has'
            f' {description.get(field)}, asked for is {wanted[field]}; choose'
            ' another --dataset_dir.'
        )
  if config.collector not in found:
    _check_room(config, found, server)
    server.client.put_metadata(wanted)


def _check_room(config: CollectConfig, found: dict[int, dict], server):
  """Reverb would drop the oldest transitions in silence."""
  taken = sum(each['num_transitions'] for each in found.values())
  capacity = server.client.capacity()
  if taken + config.num_transitions > capacity:
    raise errors.UserError(
        f'--num_transitions={config.num_transitions}: the replay server may'
        f' hold {capacity}, of which its collectors take {taken}; start it with'
        ' a larger --capacity.'
    )
