"""Tests for what is written into Reverb and read back."""

import json

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data.sources import reverb_server
from srdice_tf.policies import seeded
from srdice_tf.replay import reader
from srdice_tf.replay import reverb_tables
from srdice_tf.replay import servers
from tests import fixtures


@pytest.fixture
def server():
  with servers.ReplayServer() as server:
    yield server


def _collect(config, server):
  return collection.collect(config, fixtures.behaviour_policy(config), server)


def _transitions_by_hand(config):
  """Steps environments and policy without driver, writer or Reverb."""
  env = environments.load_batch(config.env_id, config.num_envs, config.seed)
  policy = seeded.SeededPyPolicy(
      fixtures.behaviour_policy(config), config.num_envs, config.seed
  )
  step = env.reset()
  state = policy.get_initial_state(config.num_envs)
  starts = [step.observation[i] for i in range(config.num_envs)]
  found = []
  while True:
    action_step = policy.action(step, state)
    state = action_step.state
    next_step = env.step(action_step.action)
    for i in range(config.num_envs):
      if step.is_last()[i]:
        starts.append(next_step.observation[i])
        continue
      found.append((
          i,
          step.observation[i],
          action_step.action[i],
          next_step.reward[i],
          next_step.observation[i],
          next_step.discount[i],
      ))
      if len(found) == config.num_transitions:
        return found, starts
    step = next_step


@pytest.mark.parametrize(
    'fields',
    [
        dict(num_transitions=333, seed=5),
        dict(env_id='CartPole-v1', setting='noise', num_transitions=150),
        dict(env_id='FiveStateChain', setting='main', num_transitions=450),
        dict(
            env_id='ALE/Pong-v5',
            policy='random',
            setting='main',
            num_transitions=25,
            num_envs=2,
        ),
    ],
    ids=lambda fields: fields.get('env_id', 'counter'),
)
def test_data_are_what_the_environments_delivered(fields, server):
  config = fixtures.config(**fields)
  _collect(config, server)
  env = environments.load(config.env_id)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  expected, starts = _transitions_by_hand(config)
  # The data set has one environment behind the other.
  expected.sort(key=lambda transition: transition[0])
  assert dataset.num_transitions == config.num_transitions
  batch = dataset.batch(tf.range(config.num_transitions))
  for i, part in enumerate(
      (
          batch.states,
          batch.actions,
          batch.rewards,
          batch.next_states,
          batch.not_done,
      )
  ):
    np.testing.assert_array_equal(part, [row[i + 1] for row in expected])
  # Of the last call only the first environments' rows were asked for.
  assert 0 <= len(starts) - dataset.num_initial_states <= config.num_envs
  found = dataset.initial_states(tf.range(dataset.num_initial_states)).numpy()
  known = {start.tobytes() for start in starts}
  assert all(start.tobytes() in known for start in found)


def test_episodes_and_steps_are_numbered(server):
  config = fixtures.config(200)
  _collect(config, server)
  env = environments.load(config.env_id)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  states = dataset.states(tf.range(200)).numpy()
  # The counter observes its own step, and a number drawn for the episode.
  np.testing.assert_array_equal(dataset.steps, states[:, 1])
  starts = dataset.initial_states(dataset.episodes).numpy()
  np.testing.assert_array_equal(starts[:, 0], states[:, 0])
  assert dataset.episodes.numpy().max() <= dataset.num_initial_states - 1


def test_segments_count_what_they_hold(server):
  config = fixtures.config(200)
  counts = _collect(config, server)['counts']
  samples = server.client.reverb.sample(reverb_tables.SEGMENTS, 100)
  found = {
      sample[0].info.key: reverb_tables.counts_of(sample[0].info.priority)
      for sample in samples
  }
  assert len(found) == config.num_envs
  assert np.sum(list(found.values()), axis=0).tolist() == [
      200, counts['episodes']
  ]


def test_sample_runs_in_a_compiled_loop(server):
  _collect(fixtures.config(50), server)
  env = environments.load(fixtures.COUNTER)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  rng = tf.random.Generator.from_seed(0)

  @tf.function
  def mean_reward():
    total = 0.0
    for _ in tf.range(50):
      total += tf.reduce_mean(dataset.sample(32, rng).rewards)
    return total / 50.0

  expected = float(tf.reduce_mean(dataset.rewards))
  assert float(mean_reward()) == pytest.approx(expected, rel=0.1)


def test_same_generator_state_same_batches(server):
  _collect(fixtures.config(50), server)
  env = environments.load(fixtures.COUNTER)
  dataset = reverb_server.load(server.client, collection.codec_of(env))
  first, second = (
      dataset.sample(32, tf.random.Generator.from_seed(3)).index
      for _ in range(2)
  )
  np.testing.assert_array_equal(first, second)


def test_missing_and_doubled_rows_are_found(server):
  _collect(fixtures.config(30), server)
  key, segment = next(server.client.sample_all(reverb_tables.SEGMENTS))
  server.client.insert(reverb_tables.SEGMENTS, segment, priority=1.0)
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  with pytest.raises(errors.UserError, match='stored twice'):
    reader.read_streams(server.client, codec, collector=0)
  keys = [key for key, _ in server.client.sample_all(reverb_tables.SEGMENTS)]
  assert key in keys


def test_a_server_can_forget_what_was_read(server):
  _collect(fixtures.config(3000), server)
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  kept = reverb_server.load(server.client, codec)
  moved = reverb_server.load(server.client, codec, delete=True)
  for first, second in zip(
      kept.batch(tf.range(3000)), moved.batch(tf.range(3000))
  ):
    np.testing.assert_array_equal(first, second)
  sizes = server.client.sizes()
  assert sizes[reverb_tables.SEGMENTS] == 0
  assert sizes[reverb_tables.METADATA] == 1


def test_unfinished_collection_cannot_be_read(server):
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  with pytest.raises(errors.UserError, match='0 transitions'):
    reverb_server.load(server.client, codec)
  config = fixtures.config(30)
  collection.claim(config, server)
  with pytest.raises(errors.UserError, match='saved 0 of 30 transitions'):
    reverb_server.load(server.client, codec)
  _collect(config, server)
  keys = [key for key, _ in server.client.sample_all(reverb_tables.SEGMENTS)]
  server.client.delete(reverb_tables.SEGMENTS, keys[:1])
  with pytest.raises(errors.UserError, match='collectors counted 30'):
    reverb_server.load(server.client, codec)


@pytest.mark.parametrize('seed', range(5))
def test_rows_are_sorted_in_place(seed):
  rng = np.random.default_rng(seed)
  array, order = rng.normal(size=(20, 3)), rng.permutation(20)
  expected = array[order]
  reader.permute(array, order)
  np.testing.assert_array_equal(array, expected)


def test_what_was_there_is_found_while_others_write(server):
  insert = lambda i: server.client.insert(
      reverb_tables.SEGMENTS, np.full(3, i, np.int32), 1.0
  )
  for i in range(20):
    insert(i)
  found = set()

  def write_on(seen, size):
    del seen
    if size < 80:
      insert(size + 1000)

  for _, data in server.client.sample_all(
      reverb_tables.SEGMENTS, on_progress=write_on
  ):
    found.add(int(data[0]))
  assert found >= set(range(20))


def test_descriptions_are_found_while_others_replace_theirs(server):
  put = lambda i: server.client.put_metadata({'collector': i})
  for i in range(6):
    put(i)
  for _ in range(8):
    found = []
    for _, data in server.client.sample_all(
        reverb_tables.METADATA, replaced=True
    ):
      found.append(json.loads(data.tobytes())['collector'])
      if len(found) == 1:
        put(found[0])
    assert set(found) == set(range(6))
