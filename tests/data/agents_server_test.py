"""Tests for Reverb servers that TF-Agents' observers fill."""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest
import reverb
import tensorflow as tf
from tf_agents.drivers import py_driver
from tf_agents.replay_buffers import reverb_utils
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step

from srdice_tf import data
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data.sources import agents_server
from srdice_tf.replay import network
from tests import fixtures
from tests.data import agent_steps

_COUNTER = fixtures.COUNTER
_TABLE = 'experience'


def _table(env_id=_COUNTER, name=_TABLE, spec=None, **kwargs):
  """Returns a table as TF-Agents' tutorials make them."""
  spec = spec or agent_steps.spec_of(env_id)
  return reverb.Table(**{
      'name': name,
      'sampler': reverb.selectors.Uniform(),
      'remover': reverb.selectors.Fifo(),
      'max_size': 1000,
      'rate_limiter': reverb.rate_limiters.MinSize(1),
      'signature': tensor_spec.add_outer_dim(spec),
      **kwargs,
  })


@contextlib.contextmanager
def _server(*tables):
  """Yields the client of a server on this machine."""
  server = network.start_server(tables or [_table()])
  try:
    yield reverb.Client(f'localhost:{server.port}')
  finally:
    server.stop()


def _fill(observer, steps):
  for step in steps:
    observer(step)
  observer.flush()


def _load(client, table=_TABLE):
  return agents_server.load(client.server_address, table, timeout=5.0)


def _sorted(episodes):
  return sorted(episodes, key=lambda each: each.observations.tolist())


def _checksum(episodes):
  return data.Dataset.from_episodes(_sorted(episodes)).checksum()


def _steps(episodes):
  return [step for each in episodes for step in agent_steps.steps_of(each)]


@pytest.mark.parametrize(
    'sequence_length, padding', [(2, {}), (4, {'pad_end_of_episodes': True})]
)
def test_a_driver_fills_a_table_with_windows(sequence_length, padding):
  env, recorder = environments.load(_COUNTER), agent_steps.Recorder()
  with _server() as client:
    observer = reverb_utils.ReverbAddTrajectoryObserver(
        client, _TABLE, sequence_length, tile_end_of_episodes=bool(padding),
        **padding,
    )
    driver = py_driver.PyDriver(
        env, agent_steps.random_policy(env), [observer, recorder], max_steps=45
    )
    driver.run(env.reset())
    observer.flush()
    before = client.server_info()[_TABLE]
    found, again = _load(client), _load(client)
    after = client.server_info()[_TABLE]
    observer.close()
  wanted = sorted(
      recorder.episodes(), key=lambda each: np.stack(each[0]).tolist()
  )
  agent_steps.assert_same_episodes(_sorted(found.dataset.to_episodes()), wanted)
  assert again.dataset.checksum() == found.dataset.checksum()
  assert found.bounds_known and found.action_spec.maximum == 1.0
  assert after.current_size == before.current_size
  assert after.rate_limiter_info.insert_stats == (
      before.rate_limiter_info.insert_stats
  )


@pytest.mark.parametrize('env_id', [_COUNTER, 'Pendulum-v1', 'GridWalk'])
def test_collected_data_come_back_bit_by_bit(env_id):
  episodes = agent_steps.collected(env_id).to_episodes()
  with _server(_table(env_id)) as client:
    observer = reverb_utils.ReverbAddEpisodeObserver(client, _TABLE, 1000)
    for episode in episodes:
      _fill(observer, agent_steps.steps_of(episode))
      observer.reset()  # A cut episode is an item, too.
    observer.close()
    found = _load(client)
  assert _checksum(found.dataset.to_episodes()) == _checksum(episodes)


def test_windows_of_collected_data_come_back_bit_by_bit():
  episodes = agent_steps.collected('Pendulum-v1').to_episodes()
  with _server(_table('Pendulum-v1')) as client:
    for episode in episodes:
      observer = reverb_utils.ReverbAddTrajectoryObserver(client, _TABLE, 3)
      _fill(observer, agent_steps.steps_of(episode))
      observer.close()
    found = _load(client)
  assert _checksum(found.dataset.to_episodes()) == _checksum(episodes)


def _walk(number, length, is_terminal=True):
  rng = np.random.default_rng(number)
  return data.Episode(
      observations=rng.normal(size=(length + 1, 3)).astype(np.float32),
      actions=rng.uniform(-1, 1, (length, 1)).astype(np.float32),
      rewards=rng.normal(size=length).astype(np.float32),
      is_terminal=is_terminal,
      log_probabilities=rng.normal(size=length).astype(np.float32),
  )


def test_windows_that_go_on_in_the_next_episode():
  episodes = [_without_logs(_walk(i, 2)) for i in range(4)]
  for stride in (1, 3):
    with _server() as client:
      observer = reverb_utils.ReverbTrajectorySequenceObserver(
          client, _TABLE, sequence_length=5, stride_length=stride
      )
      _fill(observer, _steps(episodes + [_walk(5, 4)]))
      found = _load(client).dataset.to_episodes()
      observer.close()
    assert len(found) == 5  # The longer stride does not reach the last's end.
    short = [each for each in found if len(each.rewards) == 2]
    short = [each for each in short if each.is_terminal]
    assert _checksum(short) == _checksum(episodes)


def test_strides_lose_ends_and_full_tables_lose_starts():
  episodes = [_walk(i, 9) for i in range(4)]
  with _server(_table(max_size=11)) as client:
    observer = reverb_utils.ReverbAddTrajectoryObserver(
        client, _TABLE, sequence_length=4, stride_length=2
    )
    _fill(observer, _steps(episodes))
    found = _load(client)
    observer.close()
  # Windows end at steps 4, 6, 8 and 10: all 16 but the oldest 5 are there.
  lengths = [len(each.rewards) for each in found.dataset.to_episodes()]
  assert lengths == [9, 9]
  assert found.notes == (
      '7 steps are left out: the starts of their episodes are not there',
  )
  wanted = _checksum([_without_logs(each) for each in episodes[2:]])
  assert _checksum(found.dataset.to_episodes()) == wanted


def _without_logs(episode):
  return data.Episode(
      episode.observations, episode.actions, episode.rewards,
      episode.is_terminal,
  )


def test_log_probabilities_and_tables_without_a_signature():
  episode = _walk(0, 5)
  info = policy_step.PolicyInfo(log_probability=tf.TensorSpec((), tf.float32))
  steps = agent_steps.steps_of(
      episode,
      lambda t: policy_step.PolicyInfo(
          log_probability=episode.log_probabilities[t]
      ),
  )
  spec = agent_steps.spec_of(_COUNTER, info)
  plain = _table(name='plain', signature=None)
  timeless = _table(name='timeless', signature=agent_steps.spec_of(_COUNTER))
  with _server(_table(spec=spec), plain, timeless) as client:
    bare = _steps([episode])
    for name, given in ((_TABLE, steps), ('plain', bare), ('timeless', bare)):
      observer = reverb_utils.ReverbAddEpisodeObserver(client, name, 100)
      _fill(observer, given)
      observer.close()
    found = _load(client).dataset.to_episodes()
    assert _checksum(found) == _checksum([episode])
    assert _load(client, 'timeless').bounds_known
    found = _load(client, 'plain')
    assert not found.bounds_known
    assert found.action_spec.maximum == episode.actions.max()
    found = found.dataset.to_episodes()
    assert _checksum(found) == _checksum([_without_logs(episode)])


def _error(client, table=_TABLE):
  with pytest.raises(errors.UserError) as error:
    _load(client, table)
  assert '\n' not in str(error.value)
  return str(error.value)


def test_windows_that_cannot_be_put_together():
  for length, stride, episodes, message in (
      (3, 3, [_walk(i, 8) for i in range(3)],
       '12 of 18 steps are of episodes whose start is not there'),
      (2, 1, [_walk(0, 4), _walk(0, 4)], '4 items are equal to others'),
      (2, 1, agent_steps.collected('GridWalk').to_episodes(), 'equal'),
      (1, 1, [_walk(0, 4)], 'its items have one step each'),
  ):
    is_grid = episodes[0].observations.ndim == 1
    with _server(_table('GridWalk' if is_grid else _COUNTER)) as client:
      observer = reverb_utils.ReverbAddTrajectoryObserver(
          client, _TABLE, length, stride
      )
      for episode in episodes:
        _fill(observer, agent_steps.steps_of(episode))
        observer.reset(write_cached_steps=False)
      found = _error(client)
      observer.close()
    assert message in found and f'table {_TABLE} of the Reverb' in found


def test_tables_that_cannot_be_read():
  make = reverb.rate_limiters
  tables = {
      'empty': ({}, 'there are no items'),
      'once': ({'max_times_sampled': 1}, 'reading would change it'),
      'tied': ({'rate_limiter': make.SampleToInsertRatio(2.0, 1, 50.0)},
               'ties samples to inserts'),
      'waiting': ({'rate_limiter': make.MinSize(9)}, 'none before it has 9'),
      'oldest': ({'sampler': reverb.selectors.Fifo()}, 'sampler (fifo)'),
      'never': ({'sampler': reverb.selectors.Prioritized(1.0)},
                '1 of 3 items were never sampled'),
      'other': ({'signature': {'a': tf.TensorSpec((None, 2), tf.float32)}},
                'its steps have a; expected those of'),
      'shapes': ({'signature': tensor_spec.add_outer_dim(
          agent_steps.spec_of('CartPole-v1'))},
                 'an item has the shapes'),
      'bare': ({'signature': None}, 'no signature, and its items have 1'),
      'nan': ({}, '1 values of rewards are NaN'),
  }
  made = [_table(name=name, **given) for name, (given, _) in tables.items()]
  with _server(*made) as client:
    for name in tables:
      if name in ('other', 'bare'):
        with client.trajectory_writer(2) as writer:
          writer.append({'a': np.zeros(2, np.float32)})
          writer.append({'a': np.zeros(2, np.float32)})
          writer.create_item(name, 1.0, {'a': writer.history['a'][:]})
      elif name != 'empty':
        _add_walks(client, name)
    for name, (_, message) in tables.items():
      assert message in _error(client, name), name
    unknown = _error(client, 'else')
    assert unknown.startswith("reverb_table='else': the server at localhost")
    assert 'bare, empty, nan, never, oldest, once, other, shapes' in unknown


def _add_walks(client, table):
  """Writes three episodes, one of them with something that is wrong."""
  for i in range(3):
    priority = 0.0 if table == 'never' and not i else 1.0
    observer = reverb_utils.ReverbAddEpisodeObserver(
        client, table, 100, priority
    )
    steps = _steps([_walk(i, 3 + i)])
    if table == 'nan' and not i:
      steps[1] = steps[1]._replace(reward=np.float32(np.nan))
    _fill(observer, steps)
    observer.close()


def test_a_table_that_is_still_written_to():
  with _server(_table(max_size=100)) as client:
    _add_walks(client, _TABLE)
    is_over = threading.Event()

    def write():
      while not is_over.is_set():
        _add_walks(client, _TABLE)

    writer = threading.Thread(target=write)
    writer.start()
    try:
      assert 'it is still written to: ' in _error(client)
    finally:
      is_over.set()
      writer.join()
    assert _load(client).dataset.num_transitions  # Now it is not.


def test_a_server_that_does_not_answer():
  with _server() as client:
    address = client.server_address
    _add_walks(client, _TABLE)
    source = agents_server._Table(address, _TABLE, 1.0)
    samples = source._samples(1000000, source.info())
    next(samples)
  start = time.monotonic()
  for call in (
      lambda: list(samples),
      source.info,
      lambda: agents_server.load(address, _TABLE, 1.0),
  ):
    with pytest.raises(
        errors.UserError,
        match=f'^reverb_address={address}: no Reverb server answers there',
    ):
      call()
  assert time.monotonic() - start < 8.0
  with socket.create_server(('localhost', 0)) as silent:
    address = f'localhost:{silent.getsockname()[1]}'
    with pytest.raises(errors.UserError, match=f'^reverb_address={address}: '):
      agents_server.load(address, _TABLE, 1.0)
