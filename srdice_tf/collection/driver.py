"""Runs the policy in the environments and saves the data at intervals."""

import time

from tf_agents.drivers import py_driver
from tf_agents.policies import tf_policy

from srdice_tf import environments
from srdice_tf import interrupts
from srdice_tf.collection import claims
from srdice_tf.collection import collect_config
from srdice_tf.collection import resuming
from srdice_tf.logging import progress
from srdice_tf.policies import seeded
from srdice_tf.replay import clients
from srdice_tf.replay import descriptions
from srdice_tf.replay import reader
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import row_codec
from srdice_tf.replay import servers
from srdice_tf.replay import writers

_CALLS_PER_RUN = 20
_SAVING_SHARE = 0.05  # The largest share of the time that saving may take.


def collect(
    config: collect_config.CollectConfig,
    policy: tf_policy.TFPolicy,
    server: servers.ReplayServer | servers.RemoteServer,
    save_seconds: float = 30.0,
) -> dict:
  """Collects the data set, or the part that is missing.

  Args:
    config: what to collect.
    policy: the behaviour policy.
    server: the replay server to fill.
    save_seconds: shortest time between two checkpoints.

  Returns:
    The description of the data set, with counts and returns.

  Raises:
    UserError: if the server holds other data or fails.
  """
  claims.claim(config, server)
  env = environments.load_batch(
      config.env_id,
      config.num_envs,
      config.stream_seed,
      count=progress.foretell_envs,
  )
  codec = row_codec.codec_of(env)
  streams = _read_streams(config, codec, server.client)
  py_policy = seeded.SeededPyPolicy(
      policy, config.num_envs, config.stream_seed
  )
  writer = writers.BatchWriter(
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
  size = client.sizes()[reverb_tables.SEGMENTS]
  if not size:
    return []
  label = f'collect {config.env_id}: what is there'
  with progress.Progress(size, 'segments', label) as bar:
    return reader.read_streams(
        client, codec, config.collector, lambda seen, _: bar.update(seen)
    )


def _ensure_saved(config, writer, server):
  """Makes sure that complete data are saved."""
  found = server.client.metadata()[config.collector]
  if found.get('status') == descriptions.COMPLETE:
    server.ensure_saved()
  else:
    server.client.put_metadata(_description(config, writer))
    server.save()


def _run(config, env, py_policy, writer, server, start, save_seconds):
  """Drives until the data set is full; saves at intervals."""
  driver = py_driver.PyDriver(
      env,
      py_policy,
      observers=[],
      transition_observers=[writer],
      max_steps=_CALLS_PER_RUN * config.num_envs,
  )
  time_step, policy_state = start
  saver = _Saver(server, save_seconds)
  shown = progress.Progress(
      config.num_transitions,
      unit='transitions',
      label=f'collect {config.env_id}',
      initial=writer.statistics.num_transitions,
  )
  with interrupts.Deferred() as interrupt, shown as bar:
    while not writer.full and interrupt.received is None:
      try:
        time_step, policy_state = driver.run(time_step, policy_state)
      except clients.NoAnswerError:
        raise
      except Exception:  # Of environment or policy; the server can still save.
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


def _description(config: collect_config.CollectConfig, writer) -> dict:
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
