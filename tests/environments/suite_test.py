"""Tests for the environments behind TF-Agents' interface."""

import gymnasium
import numpy as np
import pytest
from tf_agents.environments import utils
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.environments import gymnasium_env
from tests import fixtures

# Observations and actions as in the paper's table of environments.
_SIZES = {
    'Pendulum-v1': (3, 1),
    'Reacher-v4': (11, 2),
    'HalfCheetah-v4': (17, 6),
    'Hopper-v4': (11, 3),
    'Walker2d-v4': (17, 6),
    'Ant-v4': (111, 8),
    'Humanoid-v4': (376, 17),
}


@pytest.mark.parametrize('env_id', environments.CONTINUOUS_TASKS)
def test_continuous_tasks_have_the_papers_sizes(env_id):
  env = environments.load(env_id, max_episode_steps=20)
  assert env.observation_spec().shape == (_SIZES[env_id][0],)
  assert env.action_spec().shape == (_SIZES[env_id][1],)
  utils.validate_py_environment(env, episodes=2)


@pytest.mark.parametrize(
    'env_id', ['CartPole-v1', 'FiveStateChain', 'ALE/Pong-v5']
)
def test_discrete_tasks_follow_their_specs(env_id):
  env = environments.load(env_id, max_episode_steps=20)
  utils.validate_py_environment(env, episodes=2)
  batch = environments.load_batch(env_id, 3, max_episode_steps=20)
  utils.validate_py_environment(batch, episodes=4)


def test_action_bounds_are_the_environments():
  spec = environments.load('Humanoid-v4').action_spec()
  np.testing.assert_allclose(spec.maximum, 0.4, rtol=1e-6)
  np.testing.assert_allclose(spec.minimum, -0.4, rtol=1e-6)


def _episode(env) -> list[ts.TimeStep]:
  steps = [env.reset()]
  while not steps[-1].is_last():
    steps.append(env.step(np.zeros(1, np.float32)))
  return steps


def test_termination_has_discount_0_and_truncation_1():
  env = environments.load(fixtures.COUNTER)
  lengths = set()
  for _ in range(40):
    *before, last = _episode(env)
    assert all(step.discount == 1.0 for step in before)
    length = int(last.observation[1])
    lengths.add(length)
    # Drawn lengths beyond the time limit are truncated at it.
    is_truncated = length == fixtures.COUNTER_LIMIT
    if length < fixtures.COUNTER_LIMIT:
      assert last.discount == 0.0
    elif last.discount == 1.0:
      assert is_truncated
  assert lengths == set(range(2, fixtures.COUNTER_LIMIT + 1))


def test_truncation_exactly_at_termination_is_termination():
  env = environments.load(fixtures.COUNTER)
  at_limit = [
      float(steps[-1].discount)
      for steps in (_episode(env) for _ in range(60))
      if len(steps) == fixtures.COUNTER_LIMIT + 1
  ]
  # Length 6 terminates, 7 to 9 are truncated: both must occur.
  assert set(at_limit) == {0.0, 1.0}


def test_same_seed_same_run_and_another_seed_another():
  def run(seed):
    env = environments.load('Hopper-v4', seed)
    rng = np.random.default_rng(0)
    steps = [env.reset()]
    for _ in range(80):
      steps.append(env.step(rng.uniform(-1, 1, 3).astype(np.float32)))
    return np.stack([step.observation for step in steps])

  np.testing.assert_array_equal(run(3), run(3))
  assert not np.array_equal(run(3), run(4))


def test_an_episode_can_be_begun_again():
  env = environments.load('Hopper-v4', seed=1)
  starts = [env.begin() for _ in range(4)]
  np.testing.assert_array_equal(env.begin(2), starts[2])
  np.testing.assert_array_equal(env.begin(), starts[3])


def test_batch_is_its_environments_side_by_side():
  """Each row must be what a single environment with its seed delivers."""
  batch = environments.load_batch(fixtures.COUNTER, 5, seed=7)
  singles = [
      environments.load(fixtures.COUNTER, seed=7 * 1_000_003 + i)
      for i in range(5)
  ]
  step = batch.reset()
  expected = [env.reset() for env in singles]
  rng = np.random.default_rng(0)
  for _ in range(50):
    for i, single in enumerate(expected):
      assert step.step_type[i] == single.step_type
      assert step.reward[i] == single.reward
      assert step.discount[i] == single.discount
      np.testing.assert_array_equal(step.observation[i], single.observation)
    actions = rng.uniform(-1, 1, (5, 1)).astype(np.float32)
    step = batch.step(actions)
    expected = [env.step(a) for env, a in zip(singles, actions)]


def test_single_episode_stays_at_its_last_step():
  batch = environments.load_batch(fixtures.COUNTER, 5, single_episode=True)
  step = batch.reset()
  lasts = {}
  for _ in range(12):
    for i in np.flatnonzero(step.is_last()):
      if i in lasts:
        np.testing.assert_array_equal(step.observation[i], lasts[i])
        assert step.reward[i] == 0.0
      lasts[i] = step.observation[i]
    step = batch.step(np.zeros((5, 1), np.float32))
  assert batch.all_ended


def test_restore_brings_the_middle_of_an_episode_back():
  batch = environments.load_batch('Hopper-v4', 2, seed=2)
  rng = np.random.default_rng(0)
  actions = rng.uniform(-1, 1, (12, 2, 3)).astype(np.float32)
  batch.reset()
  for action in actions:
    expected = batch.step(action)
  fresh = environments.load_batch('Hopper-v4', 2, seed=2)
  reached = fresh.restore([0, 0], [actions[:, 0], actions[:, 1]])
  np.testing.assert_array_equal(reached.observation, expected.observation)
  np.testing.assert_array_equal(reached.step_type, expected.step_type)
  action = actions[0]
  np.testing.assert_array_equal(
      fresh.step(action).observation, batch.step(action).observation
  )


def test_unknown_environment_suggests_the_nearest():
  with pytest.raises(errors.UserError, match='HalfCheetah-v4') as error:
    environments.load('HalfCheeta-v4')
  assert '\n' not in str(error.value)


def test_unsupported_spaces_are_named():
  infinite = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
  with pytest.raises(errors.UserError, match='infinite'):
    gymnasium_env.action_spec(infinite, 'X')
  both = gymnasium.spaces.Tuple((infinite, infinite))
  with pytest.raises(errors.UserError, match='Tuple'):
    gymnasium_env.observation_spec(both, 'X', False)
  with pytest.raises(errors.UserError, match='not supported'):
    gymnasium_env.action_spec(gymnasium.spaces.MultiBinary(2), 'X')


def test_nan_reward_is_an_error():
  class Broken(fixtures.Counter):

    def step(self, action):
      observation, _, *rest = super().step(action)
      return observation, float('nan'), *rest

  env = gymnasium_env.GymnasiumEnvironment(Broken(), seed=0)
  env.reset()
  with pytest.raises(errors.UserError, match='reward is nan'):
    env.step(np.zeros(1, np.float32))


def test_chain_moves_and_loops_at_its_ends():
  env = environments.load('FiveStateChain')
  states = [int(env.reset().observation)]
  for action in (0, 1, 1, 1, 1, 1, 0):
    step = env.step(action)
    states.append(int(step.observation))
  assert states == [0, 0, 1, 2, 3, 4, 4, 3]
  assert not step.is_last()
