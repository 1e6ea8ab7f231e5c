"""Tests for what is written into Reverb and read back."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import seeded
from srdice_tf.replay import reader
from srdice_tf.replay import rows
from srdice_tf.replay import server as server_lib
from srdice_tf.replay import tables
from tests import fixtures


class _MemoryServer(server_lib.ReplayServer):
  """A server without a directory."""

  def save(self, description):
    self.description_saved = description


@pytest.fixture
def server():
  server = _MemoryServer()
  yield server
  server.stop()


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
  dataset = reader.read_dataset(server.client, collection.codec_of(env))
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
  dataset = reader.read_dataset(server.client, collection.codec_of(env))
  states = dataset.states(tf.range(200)).numpy()
  # The counter observes its own step, and a number drawn for the episode.
  np.testing.assert_array_equal(dataset.steps, states[:, 1])
  starts = dataset.initial_states(dataset.episodes).numpy()
  np.testing.assert_array_equal(starts[:, 0], states[:, 0])
  assert dataset.episodes.numpy().max() <= dataset.num_initial_states - 1


def test_tables_hold_one_item_a_transition_and_one_a_reset(server):
  config = fixtures.config(200)
  _collect(config, server)
  sizes = server.client.sizes()
  assert sizes[tables.TRANSITIONS] == 200
  streams = reader.read_streams(
        server.client, collection.codec_of(environments.load(fixtures.COUNTER))
    )
  num_first = sum(
      int((stream.steps[:, rows.STEP_TYPE] == rows.FIRST).sum())
      for stream in streams
  )
  assert sizes[tables.INITIAL_STATES] == num_first > config.num_envs


def test_stream_has_the_distribution_of_the_tensors(server):
  """Each transition must come equally often, from either."""
  config = fixtures.config(40)
  _collect(config, server)
  env = environments.load(config.env_id)
  tensors = reader.read_dataset(server.client, collection.codec_of(env))
  stream = reader.stream_dataset(server.client, collection.codec_of(env))
  keys = {
      state.tobytes(): i
      for i, state in enumerate(tensors.states(tf.range(40)).numpy())
  }
  assert len(keys) == 40
  rng = tf.random.Generator.from_seed(0)
  expected = tensors.batch(tf.range(40))

  def counts(dataset, num_batches):
    sample = tf.function(lambda: dataset.sample(64, rng))
    found = np.zeros(40)
    for _ in range(num_batches):
      batch = sample()
      index = [keys[state.tobytes()] for state in batch.states.numpy()]
      np.add.at(found, index, 1)
      for name in ('actions', 'rewards', 'next_states', 'not_done'):
        np.testing.assert_array_equal(
            getattr(batch, name), getattr(expected, name).numpy()[index]
        )
    return found

  for dataset in (tensors, stream):
    assert dataset.num_transitions == 40
    found = counts(dataset, 100)
    # Chi squared with 39 degrees of freedom: below 90 but for 1 in 10^5.
    chi_squared = np.sum((found - 160.0) ** 2) / 160.0
    assert chi_squared < 90.0


def test_stream_of_start_states(server):
  config = fixtures.config(60)
  _collect(config, server)
  env = environments.load(config.env_id)
  tensors = reader.read_dataset(server.client, collection.codec_of(env))
  stream = reader.stream_dataset(server.client, collection.codec_of(env))
  count = tensors.num_initial_states
  known = {s.tobytes() for s in tensors.initial_states(tf.range(count)).numpy()}
  rng = tf.random.Generator.from_seed(0)
  for dataset in (tensors, stream):
    found = dataset.sample_initial(400, rng).states.numpy()
    assert {state.tobytes() for state in found} == known


def test_sample_runs_in_a_compiled_loop(server):
  _collect(fixtures.config(50), server)
  env = environments.load(fixtures.COUNTER)
  for dataset in (
      reader.read_dataset(server.client, collection.codec_of(env)),
      reader.stream_dataset(server.client, collection.codec_of(env)),
  ):
    rng = tf.random.Generator.from_seed(0)

    @tf.function
    def mean_reward(dataset=dataset, rng=rng):
      total = 0.0
      for _ in tf.range(50):
        total += tf.reduce_mean(dataset.sample(32, rng).rewards)
      return total / 50.0

    env_mean = float(
        tf.reduce_mean(
            reader.read_dataset(server.client, collection.codec_of(env)).rewards
        )
    )
    assert float(mean_reward()) == pytest.approx(env_mean, rel=0.1)


def test_same_generator_state_same_batches(server):
  _collect(fixtures.config(50), server)
  env = environments.load(fixtures.COUNTER)
  dataset = reader.read_dataset(server.client, collection.codec_of(env))
  first, second = (
      dataset.sample(32, tf.random.Generator.from_seed(3)).index
      for _ in range(2)
  )
  np.testing.assert_array_equal(first, second)


def test_stacks_of_a_pixel_stream_equal_those_of_the_tensors(server):
  config = fixtures.config(
      20,
      env_id='ALE/Pong-v5',
      policy='random',
      setting='main',
      num_envs=2,
  )
  _collect(config, server)
  env = environments.load(config.env_id)
  tensors = reader.read_dataset(server.client, collection.codec_of(env))
  stream = reader.stream_dataset(server.client, collection.codec_of(env))
  known = tensors.batch(tf.range(20))
  known = {
      state.tobytes() + next_state.tobytes()
      for state, next_state in zip(
          known.states.numpy(), known.next_states.numpy()
      )
  }
  batch = stream.sample(64)
  for state, next_state in zip(batch.states.numpy(), batch.next_states.numpy()):
    assert state.tobytes() + next_state.tobytes() in known
  start = stream.sample_initial(2).states.numpy()
  assert not start[..., :3].any() and start[..., 3].any()


def test_missing_and_doubled_rows_are_found(server):
  _collect(fixtures.config(30), server)
  key, segment = next(server.client.sample_all(tables.SEGMENTS))
  with server.client.reverb.trajectory_writer(len(segment)) as writer:
    for row in segment:
      writer.append(row)
    writer.create_item(tables.SEGMENTS, 1.0, writer.history[:])
  with pytest.raises(errors.UserError, match='stored twice'):
    reader.read_streams(
        server.client, collection.codec_of(environments.load(fixtures.COUNTER))
    )
  keys = [key for key, _ in server.client.sample_all(tables.SEGMENTS)]
  assert key in keys


def test_a_server_can_forget_what_was_read(server):
  _collect(fixtures.config(3000), server)
  codec = collection.codec_of(environments.load(fixtures.COUNTER))
  kept = reader.read_dataset(server.client, codec)
  moved = reader.read_dataset(server.client, codec, delete=True)
  for first, second in zip(
      kept.batch(tf.range(3000)), moved.batch(tf.range(3000))
  ):
    np.testing.assert_array_equal(first, second)
  sizes = server.client.sizes()
  assert sizes[tables.SEGMENTS] == sizes[tables.TRANSITIONS] == 0
  assert sizes[tables.METADATA] == 1


def test_unfinished_collection_cannot_be_read(server):
  env = environments.load(fixtures.COUNTER)
  with pytest.raises(errors.UserError, match='0 transitions'):
    reader.read_dataset(server.client, collection.codec_of(env))
  _collect(fixtures.config(30), server)
  keys = [key for key, _ in server.client.sample_all(tables.SEGMENTS)]
  server.client.delete(tables.SEGMENTS, keys[:1])
  with pytest.raises(errors.UserError, match='in finished segments'):
    reader.read_dataset(server.client, collection.codec_of(env))


@pytest.mark.parametrize('seed', range(5))
def test_rows_are_sorted_in_place(seed):
  rng = np.random.default_rng(seed)
  array, order = rng.normal(size=(20, 3)), rng.permutation(20)
  expected = array[order]
  reader.permute(array, order)
  np.testing.assert_array_equal(array, expected)
