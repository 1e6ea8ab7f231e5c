"""Tests of the replay of frames against rows kept in plain lists."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import trajectory

from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import ddqn
from srdice_tf.agents import frame_learner

_SIZE, _STACK, _ENVS = 36, 4, 2
_OBSERVATIONS = array_spec.BoundedArraySpec(
    (_SIZE, _SIZE, _STACK), np.uint8, 0, 255
)
_ACTIONS = array_spec.BoundedArraySpec((), np.int64, 0, 3)
FIRST, MID, LAST = 0, 1, 2


class _Player:
  """Plays episodes of random frames; remembers all that it showed."""

  def __init__(self, lengths=(5, 9, 7), terminal=(True, False, True)):
    self._rng = np.random.default_rng(0)
    self._lengths, self._terminal = lengths, terminal
    self._age, self._episode = [0] * _ENVS, [0, 1]
    self._stacks = [np.zeros((_SIZE, _SIZE, _STACK), np.uint8)] * _ENVS
    self.rows = [[] for _ in range(_ENVS)]

  def _row(self, env):
    age, episode = self._age[env], self._episode[env] % len(self._lengths)
    length = self._lengths[episode]
    if age == 0:
      self._stacks[env] = np.zeros_like(self._stacks[env])
    frame = self._rng.integers(256, size=(_SIZE, _SIZE, 1)).astype(np.uint8)
    self._stacks[env] = np.concatenate(
        [self._stacks[env][..., 1:], frame], axis=-1
    )
    step_type = FIRST if age == 0 else LAST if age == length else MID
    ends = age == length - 1 and self._terminal[episode]
    if age == length:
      self._age[env], self._episode[env] = 0, self._episode[env] + 1
    else:
      self._age[env] += 1
    action, reward = self._rng.integers(4), self._rng.normal()
    return step_type, self._stacks[env], action, reward, 0.0 if ends else 1.0

  def play(self, num_rows) -> collector.Rows:
    parts = []
    for _ in range(num_rows):
      rows = [self._row(env) for env in range(_ENVS)]
      for env, row in enumerate(rows):
        self.rows[env].append(row)
      parts.append([np.stack(column) for column in zip(*rows)])
    return collector.Rows(*map(np.stack, zip(*parts)))

  def expected(self, row, env, n_step, gamma):
    """What the learner must give for a row, step by step."""
    rows = self.rows[env]
    reward, discount, ahead = 0.0, 1.0, 0
    while ahead < n_step and rows[row + ahead][0] != LAST:
      reward += gamma**ahead * rows[row + ahead][3]
      discount *= rows[row + ahead][4]
      ahead += 1
    return (
        rows[row][1], rows[row][2], reward, discount * gamma ** (ahead - 1),
        rows[row + ahead][1],
    )


@pytest.fixture
def learners():
  made = []

  def make(
      capacity=1_000, learner_class=frame_learner.FrameLearner, **settings
  ):
    config = configs.DdqnConfig(**{**dict(
        batch_size=4, replay_capacity=capacity, num_envs=_ENVS, block_steps=8,
        gamma=0.9, n_step=3, small_network=True,
    ), **settings})
    agent = ddqn.make_agent(_OBSERVATIONS, _ACTIONS, config, seed=0)
    made.append(learner_class(agent, config, 10_000))
    return made[-1]

  yield make
  for learner in made:
    learner.close()


def _check_all(learner, player, n_step):
  low, high = learner._bounds()
  index = np.arange(low, high, dtype=np.int32)
  parts, mask = learner.transitions(tf.constant(index))
  num_masked = 0
  for i, (row, env) in enumerate(np.stack(np.divmod(index, _ENVS), 1)):
    if player.rows[env][row][0] == LAST:
      assert mask[i] == 0.0
      num_masked += 1
      continue
    assert mask[i] == 1.0
    found = [part[i].numpy() for part in parts]
    for got, wanted in zip(found, player.expected(row, env, n_step, 0.9)):
      np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
  assert 0 < num_masked < len(index) / 3
  return len(index)


@pytest.mark.parametrize('n_step', [1, 3, 6])
def test_transitions_are_what_was_played(learners, n_step):
  learner, player = learners(n_step=n_step), _Player()
  learner.add_rows(player.play(40))
  # All rows but those whose successors are not there yet.
  assert _check_all(learner, player, n_step) == (40 - n_step) * _ENVS


def test_only_rows_with_their_history_are_left_in_the_ring(learners):
  learner, player = learners(capacity=41), _Player()
  for _ in range(7):
    learner.add_rows(player.play(8))
  # 20 rows fit; 3 lack older frames, 3 lack successors.
  assert _check_all(learner, player, 3) == (20 - 6) * _ENVS


def test_n_steps_agree_with_tf_agents(learners):
  learner, player = learners(), _Player(lengths=(50,), terminal=(True,))
  learner.add_rows(player.play(20))
  rows = [player.rows[0][i] for i in range(6, 10)]
  column = lambda i, dtype=np.float32: tf.constant(
      [[row[i] for row in rows]], dtype
  )
  ones = tf.ones((1, 4), tf.int32)
  steps = trajectory.Trajectory(
      ones, column(1, np.uint8), column(2, np.int64), (), ones, column(3),
      column(4),
  )
  theirs = trajectory.to_n_step_transition(steps, gamma=0.9)
  ours, _ = learner.transitions(tf.constant([6 * _ENVS]))
  np.testing.assert_allclose(
      ours.reward, theirs.next_time_step.reward, rtol=1e-6
  )
  np.testing.assert_allclose(
      ours.discount, theirs.next_time_step.discount, rtol=1e-6
  )
  np.testing.assert_array_equal(
      ours.next_observation, theirs.next_time_step.observation
  )


@pytest.mark.parametrize('num_blocks', [1, 3, 9])
def test_rows_are_restored_to_their_places(learners, tmp_path, num_blocks):
  player = _Player()
  original, restored = learners(capacity=41), learners(capacity=41)
  for _ in range(num_blocks):
    original.add_rows(player.play(5))
  original.save(str(tmp_path))
  restored.restore(str(tmp_path))
  block = player.play(5)
  for learner in (original, restored):
    learner.add_rows(block)
  assert original._bounds() == restored._bounds()
  index = tf.range(*original._bounds())
  for left, right in zip(
      original.transitions(index)[0], restored.transitions(index)[0]
  ):
    np.testing.assert_array_equal(left, right)


def test_updates_are_counted_and_repeat_with_their_seed(learners):
  losses = []
  for seed in ((0, 1), (0, 1), (0, 2)):
    learner = learners()
    learner.add_rows(_Player().play(20))
    losses.append(learner.learn(3, seed)['loss'])
    assert int(learner._agent.train_step_counter) == 3
  assert losses[0] == losses[1] != losses[2]


def _priorities(learner):
  samples = learner._priorities.server.sample(1_000)
  return {int(sample.data[0]): sample.info.priority for sample in samples}


def _check_rows(learner):
  assert set(_priorities(learner)) == set(range(*learner._bounds()))


def test_priorities_are_of_the_rows_that_can_be_drawn(learners, tmp_path):
  make = lambda: learners(
      capacity=41, learner_class=frame_learner.PrioritisedFrameLearner,
      min_priority=0.3,
  )
  learner, player = make(), _Player()
  learner.add_rows(player.play(5))
  _check_rows(learner)
  for _ in range(6):
    learner.add_rows(player.play(8))
  _check_rows(learner)
  learner.learn(3, (0, 0))
  assert int(learner._agent.train_step_counter) == 3
  learner.save(str(tmp_path))
  restored = make()
  restored.restore(str(tmp_path))
  found = _priorities(learner)
  assert found == _priorities(restored)
  assert len(set(found.values())) > 3
  block = player.play(3)
  for each in (learner, restored):
    each.add_rows(block)
    _check_rows(each)
