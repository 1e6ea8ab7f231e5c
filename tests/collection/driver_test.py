"""Tests for collecting: exact numbers, seeds, interruptions."""

import functools
import hashlib

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data.sources import reverb_server
from srdice_tf.replay import directories
from srdice_tf.replay import servers
from srdice_tf.replay import writers
from tests import fixtures
from tests.environments import failing


def _server(path, capacity=1000):
  directory = directories.DatasetDirectory(str(path))
  return servers.ReplayServer(directory, capacity)


# Games take time to load.
_policy = functools.cache(fixtures.behaviour_policy)


@functools.cache
def _codec(env_id):
  return collection.codec_of(environments.load(env_id))


def _collect(path, config, save_seconds=0.0):
  server = _server(path)
  try:
    policy = _policy(config)
    collection.collect(config, policy, server, save_seconds)
  finally:
    server.stop()


def _contents(path, config) -> tuple[int, str]:
  """Returns the size of a data set and a hash of all of it."""
  server = _server(path)
  dataset = reverb_server.load(server.client, _codec(config.env_id))
  counts = server.counts
  server.stop()
  assert counts['transitions'] == dataset.num_transitions
  assert counts['episodes'] == dataset.num_initial_states
  digest = hashlib.sha256()
  for part in dataset.batch(tf.range(dataset.num_transitions)):
    digest.update(part.numpy().tobytes())
  return dataset.num_transitions, digest.hexdigest()


def test_seed_determines_the_data(tmp_path):
  found = []
  for name, seed in (('a', 1), ('b', 1), ('c', 2)):
    config = fixtures.config(101, seed=seed)
    _collect(tmp_path / name, config)
    found.append(_contents(tmp_path / name, config))
  assert found[0] == found[1]
  assert found[0][0] == 101
  assert found[0] != found[2]


def test_what_a_failing_environment_gave_is_kept(tmp_path):
  config = fixtures.config(100, env_id=failing.id_of('reset'), num_envs=2)
  with pytest.raises(errors.UserCodeError, match='no second time'):
    _collect(tmp_path, config, save_seconds=1e9)
  # Both environments had one episode of 5 steps.
  counts = {'transitions': 10, 'episodes': 2}
  with _server(tmp_path) as server:
    assert server.counts == counts
  description = directories.DatasetDirectory(str(tmp_path)).read()
  assert description['status'] == directories.COLLECTING
  with pytest.raises(errors.UserCodeError, match='no second time'):
    _collect(tmp_path, config)  # Again, from where it was.
  with _server(tmp_path) as server:
    assert server.counts == counts


def test_collectors_of_any_seed_differ(tmp_path):
  found = []
  for seed, collector in ((1000, 0), (0, 1), (0, 0), (1000, 1), (0, 2)):
    config = fixtures.config(40, seed=seed, collector=collector)
    path = tmp_path / f'{seed}_{collector}'
    _collect(path, config)
    found.append(_contents(path, config)[1])
  assert len(set(found)) == len(found)


def test_streams_of_seed_and_collector_are_apart():
  config = lambda **fields: fixtures.config(4, **fields)
  # The first collector's data are those of its seed alone.
  assert config(seed=7).stream_seed == 7
  last = 2**31 - 1
  seeds = [
      config(seed=seed, collector=collector).stream_seed
      for seed in (0, 1, 1000, last)
      for collector in (0, 1, 2, 127)
  ]
  assert len(set(seeds)) == len(seeds)
  for fields in ({'collector': 128}, {'seed': last + 1}, {'collector': -1}):
    with pytest.raises(errors.UserError, match=f'{next(iter(fields))}='):
      config(**fields)


@pytest.mark.parametrize(
    'env_id, size, expected',
    [
        # Those of the paper's sizes have what they always had.
        *((env_id, 50_000, 25) for env_id in environments.CONTINUOUS_TASKS),
        *((env_id, 500_000, 25) for env_id in environments.CONTINUOUS_TASKS),
        ('ALE/Pong-v5', 1_000_000, 25),
        ('ALE/Pong-v5', 100_000, 25),
        ('GridWalk', 80_000, 25),
        # Small ones have whole episodes.
        ('HalfCheetah-v4', 5000, 5),
        ('HalfCheetah-v4', 10_000, 10),
        ('HalfCheetah-v4', 25_000, 25),
        ('HalfCheetah-v4', 7000, 7),
        ('HalfCheetah-v4', 30_000, 15),
        ('Pendulum-v1', 5000, 5),
        ('Reacher-v4', 5000, 10),
        # Fewer than an episode, and a size that is no multiple of it.
        ('HalfCheetah-v4', 999, 1),
        ('HalfCheetah-v4', 5500, 5),
    ],
)
def test_default_number_of_environments(env_id, size, expected):
  assert collection.default_num_envs(env_id, size) == expected


def test_small_data_sets_are_whole_episodes(tmp_path):
  """5,000 transitions of HalfCheetah are 5 episodes, each to its limit."""
  config = fixtures.config(
      5000,
      env_id='HalfCheetah-v4',
      num_envs=collection.default_num_envs('HalfCheetah-v4', 5000),
  )
  server = _server(tmp_path, capacity=5000)
  policy = fixtures.behaviour_policy(config)
  counts = collection.collect(config, policy, server)['counts']
  env = environments.load(config.env_id)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  server.stop()
  assert (counts['episodes'], counts['ended_episodes']) == (5, 5)
  np.testing.assert_array_equal(np.bincount(dataset.episodes), [1000] * 5)
  # A time-out is no terminal state.
  np.testing.assert_array_equal(dataset.not_done, 1.0)


class _Killed(BaseException):
  """Stands for SIGKILL: nothing after it is saved."""


def _kill_at(monkeypatch, call):
  original = writers.BatchWriter.__call__

  def observe(self, transition):
    if self.call == call:
      raise _Killed
    original(self, transition)

  monkeypatch.setattr(writers.BatchWriter, '__call__', observe)


@pytest.mark.parametrize(
    'fields',
    [
        dict(num_transitions=600),
        # Its policy has a state, the policy of the episode.
        dict(env_id='CartPole-v1', setting='noise', num_transitions=600),
        dict(
            env_id='ALE/Pong-v5', setting='noise', num_transitions=120,
            num_envs=2, seed=3,
        ),
    ],
    ids=lambda fields: fields.get('env_id', 'counter'),
)
def test_interrupted_equals_uninterrupted(fields, tmp_path, monkeypatch):
  config = fixtures.config(**fields)
  _collect(tmp_path / 'whole', config)
  last_call = config.num_transitions // config.num_envs
  for call in (0, last_call // 3, 2 * last_call // 3):
    with monkeypatch.context() as patch, pytest.raises(_Killed):
      _kill_at(patch, call)
      _collect(tmp_path / 'parts', config)
  _collect(tmp_path / 'parts', config)
  assert _contents(tmp_path / 'parts', config) == _contents(
      tmp_path / 'whole', config
  )


def test_killed_collector_of_a_living_server(tmp_path, monkeypatch):
  """The server has whole segments of some environments, none of others."""
  config = fixtures.config(300)
  policy = fixtures.behaviour_policy(config)
  _collect(tmp_path / 'whole', config)
  # Several segments, closed environment by environment.
  monkeypatch.setattr(writers, 'SEGMENT_LENGTH', 20)
  server = _server(tmp_path / 'served')
  with monkeypatch.context() as patch, pytest.raises(_Killed):
    _kill_at(patch, 50)
    collection.collect(config, policy, server)
  with monkeypatch.context() as patch, pytest.raises(_Killed):
    _tear_closing(patch, after=2)
    collection.collect(config, policy, server)
  collection.collect(config, policy, server)
  server.stop()
  assert _contents(tmp_path / 'served', config) == _contents(
      tmp_path / 'whole', config
  )


def _tear_closing(monkeypatch, after):
  """Kills while segments are closed: some environments' are, some are not."""
  original = writers.BatchWriter._send
  count = 0

  def send(self, segment):
    nonlocal count
    count += 1
    if count > after:
      raise _Killed
    original(self, segment)

  monkeypatch.setattr(writers.BatchWriter, '_send', send)


def test_environment_that_cannot_repeat_itself_is_cut(tmp_path, monkeypatch):
  """Its unfinished episodes end; no transition joins two worlds."""
  config = fixtures.config(200)
  with monkeypatch.context() as patch, pytest.raises(_Killed):
    _kill_at(patch, 25)
    _collect(tmp_path, config)
  original = fixtures.Counter.reset

  def drift(self, **options):
    observation, info = original(self, **options)
    self._identity += 0.5
    return observation + [0.5, 0.0, 0.0], info

  monkeypatch.setattr(fixtures.Counter, 'reset', drift)
  _collect(tmp_path, config)
  env = environments.load(config.env_id)
  server = _server(tmp_path)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  server.stop()
  assert dataset.num_transitions == 200
  states = dataset.states(tf.range(200)).numpy()
  next_states = dataset.next_states(tf.range(200)).numpy()
  np.testing.assert_array_equal(states[:, 0], next_states[:, 0])
  np.testing.assert_array_equal(states[:, 1] + 1, next_states[:, 1])


def test_finished_data_set_is_left_alone(tmp_path):
  config = fixtures.config(60)
  _collect(tmp_path, config)
  before = (tmp_path / 'dataset.json').read_bytes()
  _collect(tmp_path, config)
  assert (tmp_path / 'dataset.json').read_bytes() == before


@pytest.mark.parametrize(
    'field, value',
    [
        ('env_id', 'Pendulum-v1'),
        ('seed', 4),
        ('num_transitions', 61),
        ('setting', 'easy'),
        ('policy_checksum', 'other'),
        ('num_envs', 5),
        ('behaviour_sigma', 0.5),
        ('uniform_probability', 0.1),
    ],
)
def test_other_data_set_in_the_directory(tmp_path, field, value):
  _collect(tmp_path, fixtures.config(60))
  other = fixtures.config(**{'num_transitions': 60, field: value})
  name = 'environment' if field == 'env_id' else field
  with pytest.raises(errors.UserError, match=f'differs in {name}'):
    _collect(tmp_path, other)


def test_collectors_share_a_server(tmp_path):
  server = _server(tmp_path)
  for collector, seed in ((1, 10), (2, 20)):
    config = fixtures.config(70, collector=collector, seed=seed)
    policy = fixtures.behaviour_policy(config)
    collection.collect(config, policy, server)
  server.stop()
  description = directories.DatasetDirectory(str(tmp_path)).read()
  assert description['num_transitions'] == 140
  assert description['status'] == 'complete'
  assert _contents(tmp_path, config)[0] == 140


def test_complete_data_of_a_server_elsewhere_are_saved(tmp_path):
  """The server may die the moment a collector finds its share there."""
  config = fixtures.config(60)
  policy = fixtures.behaviour_policy(config)
  with _server(tmp_path) as server:
    remote = servers.RemoteServer(f'localhost:{server.port}', timeout=10)
    with pytest.MonkeyPatch.context() as patch:
      patch.setattr(servers.RemoteServer, 'save', lambda self: None)
      collection.collect(config, policy, remote)
    server.adopt_checkpoint()
    assert server.counts['transitions'] == 0
    collection.collect(config, policy, remote)
    server.adopt_checkpoint()
    assert server.counts['transitions'] == 60
  assert _contents(tmp_path, config)[0] == 60


def test_counts_are_those_of_the_checkpoint(tmp_path):
  """Collectors go on while the server describes what they asked for."""
  config = fixtures.config(60)
  policy = fixtures.behaviour_policy(config)
  directory = directories.DatasetDirectory(str(tmp_path))
  with _server(tmp_path) as server:
    remote = servers.RemoteServer(f'localhost:{server.port}', timeout=10)
    collection.collect(config, policy, remote)
    with pytest.MonkeyPatch.context() as patch:
      patch.setattr(servers.RemoteServer, 'save', lambda self: None)
      other = fixtures.config(40, collector=1)
      collection.collect(other, policy, remote)
    server.adopt_checkpoint()
    description = directory.read()
    assert description['counts']['transitions'] == 60
    assert description['num_transitions'] == 100
    assert description['status'] == 'collecting'
    server.save()
    assert directory.read()['counts']['transitions'] == 100
    assert directory.read()['status'] == 'complete'


def test_an_environment_without_a_transition_is_refused():
  with pytest.raises(errors.UserError, match='^num_envs=4: .*=3 or less'):
    fixtures.config(3, num_envs=4)


def test_server_without_room(tmp_path):
  server = _server(tmp_path, capacity=50)
  config = fixtures.config(60)
  with pytest.raises(errors.UserError, match='can hold 50, .*larger capacity'):
    collection.collect(config, fixtures.behaviour_policy(config), server)
  server.stop()


def test_summary_counts(tmp_path):
  config = fixtures.config(400)
  server = _server(tmp_path)
  policy = fixtures.behaviour_policy(config)
  counts = collection.collect(config, policy, server)['counts']
  env = environments.load(config.env_id)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  server.stop()
  assert counts['transitions'] == 400
  assert counts['episodes'] == dataset.num_initial_states
  assert counts['mean_reward'] == pytest.approx(np.mean(dataset.rewards))
  # An ended episode of length n returns 1 + 2 + ... + n.
  episodes = dataset.episodes.numpy()
  rewards = dataset.rewards.numpy()
  returns = np.bincount(episodes, rewards)
  lengths = np.bincount(episodes)
  np.testing.assert_array_equal(returns, lengths * (lengths + 1) / 2)
  assert 0 < counts['episodes'] - counts['ended_episodes'] <= config.num_envs
