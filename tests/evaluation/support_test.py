"""Tests of the support of policies, on data where it is known."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.evaluation import support


class _Rule(tf_policy.TFPolicy):
  """A function from states [B, ...] to actions."""

  def __init__(self, dataset, action_spec, rule):
    observation = dataset.states(tf.constant([0]))[0]
    spec = tf.TensorSpec(observation.shape, observation.dtype)
    super().__init__(ts.time_step_spec(spec), action_spec)
    self._rule = rule

  def _action(self, time_step, policy_state, seed):
    del seed
    return policy_step.PolicyStep(self._rule(time_step.observation))

  def _distribution(self, time_step, policy_state):
    raise NotImplementedError('It has none.')


def _episodes(act, count=40, length=50, size=3, state=None):
  rng = np.random.default_rng(0)
  state = state or (lambda: rng.normal(size=(length + 1, size)))
  for _ in range(count):
    states = state().astype(np.float32)
    yield data.Episode(
        states, act(rng, states[:-1]), np.zeros(length), is_terminal=False
    )


def _near(rng, states):
  """tanh(s0) and some noise."""
  noise = rng.normal(0.0, 0.05, (len(states), 2))
  return np.clip(np.tanh(states[:, :1]) * 0.5 + noise, -1, 1)


_SPEC = tensor_spec.BoundedTensorSpec([2], tf.float32, -1.0, 1.0)


def _base(states):
  return tf.tile(tf.tanh(states[:, :1]) * 0.5, [1, 2])


def _far(states):
  """Far from what is done at these states, but not at others."""
  return _base(states) - tf.sign(states[:, :1])


def _half(states):
  return tf.where(states[:, 1:2] > 0, _base(states), _far(states))


def _share(dataset, rule, spec=_SPEC, **arguments):
  return support.of_policy(dataset, _Rule(dataset, spec, rule), **arguments)


@pytest.fixture(scope='module', name='dataset')
def make_dataset():
  return data.Dataset.from_episodes(_episodes(_near))


def test_what_was_done_is_supported(dataset):
  found = _share(dataset, _base)
  assert found.far_share < 0.03
  assert found.logged_share == pytest.approx(0.01, abs=0.002)
  assert (found.num_queries, found.num_logged) == (2000, 2000)
  assert 0.5 < found.distance_ratio < 1.0  # It has no noise.


def test_what_was_never_done_is_not_supported(dataset):
  found = _share(dataset, _far)
  assert found.far_share > 0.95 and found.distance_ratio > 4.0


def test_rare_uniform_actions_support_all_but_are_not_alike():
  def act(rng, states):
    uniform = rng.uniform(-1, 1, (len(states), 2))
    return np.where(rng.random((len(states), 1)) < 0.2, uniform,
                    _near(rng, states))

  dataset = data.Dataset.from_episodes(_episodes(act))
  found = _share(dataset, _far)
  assert found.far_share < 0.5 and found.distance_ratio > 2.0


def test_half_of_the_states(dataset):
  assert _share(dataset, _half).far_share == pytest.approx(0.5, abs=0.05)


def test_few_actions_are_not_lost_among_many_observations():
  wide = data.Dataset.from_episodes(_episodes(_near, size=100))
  spec = tensor_spec.BoundedTensorSpec([2], tf.float32, -3.0, 3.0)
  assert _share(wide, _base, spec).far_share < 0.05
  far = lambda states: _base(states) + 2.0
  assert _share(wide, far, spec).far_share > 0.95


def test_one_long_episode_is_compared_with_other_parts_of_it():
  dataset = data.Dataset.from_episodes(_episodes(_near, 1, 2000))
  assert _share(dataset, _base).far_share < 0.03
  assert _share(dataset, _far).far_share > 0.95


def test_a_constant_action_supports_itself_only():
  act = lambda rng, states: np.full((len(states), 2), 0.25)
  dataset = data.Dataset.from_episodes(_episodes(act))
  same = lambda states: tf.fill([len(states), 2], 0.25)
  assert _share(dataset, same).far_share < 0.05
  other = lambda states: tf.fill([len(states), 2], 0.75)
  assert _share(dataset, other).far_share == 1.0


def test_the_seed_decides_all(dataset, monkeypatch):
  monkeypatch.setattr(support, 'NUM_QUERIES', 200)
  monkeypatch.setattr(support, 'NUM_LOGGED', 500)
  shares = [_share(dataset, _half, seed=seed) for seed in (3, 3, 4)]
  assert shares[0] == shares[1] != shares[2]
  assert shares[0].num_logged == 500


_ACTIONS = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)


def _sign(rng, states):
  """0 or 1 by the sign of the first number; never 2."""
  del rng
  return (states[:, 0] > 0).astype(np.int64)


@pytest.mark.parametrize(
    'rule, expected',
    [
        (lambda s: tf.cast(s[:, 0] > 0, tf.int64), 0.01),
        (lambda s: tf.cast(s[:, 0] < 0, tf.int64), 0.9),
        (lambda s: tf.fill([len(s)], tf.constant(2, tf.int64)), 1.0),
        # Right where the second number is positive, else never taken.
        (lambda s: tf.where(s[:, 1] > 0, tf.cast(s[:, 0] > 0, tf.int64), 2),
         0.5),
    ],
)
def test_discrete_actions_are_those_of_similar_states(rule, expected):
  dataset = data.Dataset.from_episodes(_episodes(_sign, size=2))
  share = _share(dataset, rule, _ACTIONS).far_share
  if expected == 0.9:  # Near the border between both signs it is supported.
    assert 0.7 < share < 1.0
  else:
    assert share == pytest.approx(expected, abs=0.04)


def test_finite_states_are_counted():
  rng = np.random.default_rng(0)
  states = lambda: rng.integers(0, 4, 51)
  episodes = [
      data.Episode(s, s[:-1] % 2, np.zeros(50), False)
      for s in (states() for _ in range(20))
  ]
  dataset = data.Dataset.from_episodes(episodes)
  found = _share(dataset, lambda s: s % 2, _ACTIONS)
  assert found.far_share == 0.0 and found.distance_ratio is None
  assert _share(dataset, lambda s: 1 - s % 2, _ACTIONS).far_share == 1.0
  zero = _share(dataset, tf.zeros_like, _ACTIONS).far_share
  assert zero == pytest.approx(0.5, abs=0.05)


def test_frames_are_pooled():
  rng = np.random.default_rng(0)

  def frames():
    bright = np.resize([0, 0, 1, 1], 51)[rng.permutation(51)]
    noise = rng.integers(0, 50, (51, 16, 16))
    return (bright[:, None, None] * 200 + noise).astype(np.uint8), bright

  episodes = []
  for _ in range(20):
    pixels, bright = frames()
    episodes.append(data.Episode(pixels, bright[:-1], np.zeros(50), False))
  dataset = data.Dataset.from_episodes(episodes, frame_stack=2)
  is_bright = lambda s: tf.cast(
      tf.reduce_mean(tf.cast(s[..., -1], tf.float32), [1, 2]) > 100, tf.int64
  )
  assert _share(dataset, is_bright, _ACTIONS).far_share < 0.05
  wrong = _share(dataset, lambda s: 1 - is_bright(s), _ACTIONS)
  assert wrong.far_share > 0.95


def test_a_policy_that_gives_nan_is_named(dataset):
  rule = lambda states: _base(states) * np.nan
  with pytest.raises(errors.UserError, match='gave the action .*nan'):
    _share(dataset, rule)
