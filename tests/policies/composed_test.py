"""Tests for target and behaviour policies."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import probability_tables
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

_OBSERVATION = array_spec.ArraySpec((3,), np.float32, 'observation')
_CONTINUOUS = array_spec.BoundedArraySpec((2,), np.float32, -2.0, 2.0, 'action')
_DISCRETE = array_spec.BoundedArraySpec((), np.int64, 0, 4, 'action')
_N = 4000


def _time_step(batch_size=_N, is_first=True):
  """One state, repeated: the policy's randomness is all that differs."""
  observation = np.tile(np.float32([[0.1, -0.2, 0.3]]), (batch_size, 1))
  if is_first:
    return ts.restart(tf.constant(observation), batch_size)
  return ts.transition(
      tf.constant(observation), tf.zeros(batch_size), tf.ones(batch_size)
  )


def _base(action_spec):
  return base.deterministic_policy(_OBSERVATION, action_spec, seed=5)


def test_gaussian_noise_is_scaled_by_the_bound():
  policy = _base(_CONTINUOUS)
  noisy = composed.GaussianNoise(policy, sigma=0.1)
  step = _time_step()
  noise = (noisy.action(step, seed=[0, 0]).action - policy.action(step).action)
  # The bound is 2, so that 0.1 becomes 0.2.
  np.testing.assert_allclose(np.std(noise, axis=0), 0.2, rtol=0.06)
  np.testing.assert_allclose(np.mean(noise, axis=0), 0.0, atol=0.015)


def test_noisy_actions_are_clipped():
  noisy = composed.GaussianNoise(_base(_CONTINUOUS), sigma=3.0)
  actions = noisy.action(_time_step(), seed=[0, 0]).action.numpy()
  assert actions.max() == 2.0 and actions.min() == -2.0
  assert (np.abs(actions) == 2.0).mean() > 0.3


def test_uniform_mixture_is_per_step_and_of_all_actions_at_once():
  noisy = composed.GaussianNoise(_base(_CONTINUOUS), sigma=0.01)
  mixed = composed.UniformMixture(noisy, probability=0.2)
  step = _time_step()
  centre = _base(_CONTINUOUS).action(step).action
  far = np.abs(mixed.action(step, seed=[0, 0]).action - centre) > 0.08
  # A uniform action is near the centre by chance in a 25th of the cases.
  assert abs(far.mean() - 0.2 * 0.96) < 0.025
  assert (far[:, 0] == far[:, 1]).mean() > 0.97


def test_epsilon_greedy_probabilities():
  greedy = _base(_DISCRETE)
  step = _time_step(3)
  best = int(greedy.action(step).action[0])
  policy = composed.EpsilonGreedy(greedy, epsilon=0.1)
  probabilities = policy.distribution(step).action.probs_parameter().numpy()
  expected = np.full(5, 0.1 / 5)
  expected[best] += 0.9
  np.testing.assert_allclose(probabilities, [expected] * 3, rtol=1e-5)
  actions = policy.action(_time_step(), seed=[0, 0]).action.numpy()
  assert actions.dtype == np.int64
  assert abs((actions == best).mean() - expected[best]) < 0.015


def test_episode_mixture_keeps_its_policy_within_an_episode():
  explore = composed.UniformPolicy(_OBSERVATION, _DISCRETE)
  greedy = composed.EpsilonGreedy(_base(_DISCRETE), epsilon=0.0)
  mixed = composed.EpisodeMixture([explore, greedy], [0.8, 0.2])
  best = int(_base(_DISCRETE).action(_time_step(1)).action[0])
  step = mixed.action(_time_step(), mixed.get_initial_state(_N), seed=[0, 0])
  drawn = step.state.numpy()
  assert abs((drawn == 1).mean() - 0.2) < 0.02
  for i in range(1, 4):
    step = mixed.action(_time_step(is_first=False), step.state, seed=[0, i])
    np.testing.assert_array_equal(step.state, drawn)
    assert (step.action.numpy()[drawn == 1] == best).all()
    assert (step.action.numpy()[drawn == 0] != best).mean() > 0.7
  again = mixed.action(_time_step(), step.state, seed=[0, 9]).state.numpy()
  assert (again != drawn).mean() > 0.2


def test_episode_mixture_log_prob_is_that_of_its_policy():
  explore = composed.UniformPolicy(_OBSERVATION, _DISCRETE)
  greedy = composed.EpsilonGreedy(_base(_DISCRETE), epsilon=0.0)
  mixed = composed.EpisodeMixture([explore, greedy], [0.8, 0.2])
  best = greedy.action(_time_step(2)).action
  state = tf.constant([0, 1])
  within = mixed.distribution(_time_step(2, is_first=False), state).action
  np.testing.assert_allclose(
      np.exp(within.log_prob(best)), [0.2, 1.0], rtol=1e-5
  )
  first = mixed.distribution(_time_step(2), state).action
  np.testing.assert_allclose(
      np.exp(first.log_prob(best)), [0.8 * 0.2 + 0.2] * 2, rtol=1e-5
  )


def test_log_prob_of_a_mixture_of_tables():
  specs = (
      array_spec.BoundedArraySpec((), np.int64, 0, 1),
      array_spec.BoundedArraySpec((), np.int64, 0, 2),
  )
  one = probability_tables.TabularPolicy(
      *specs, [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]
  )
  other = one.mixed(1.0)
  mixed = composed.EpisodeMixture([one, other], [0.75, 0.25])
  time_step = ts.restart(tf.constant([0, 1], tf.int64), 2)
  found = mixed.distribution(time_step, tf.constant([0, 0])).action
  np.testing.assert_allclose(
      np.exp(found.log_prob([2, 0])),
      [0.75 * 0.5 + 0.25 / 3, 0.75 + 0.25 / 3],
      rtol=1e-6,
  )


def test_log_prob_of_the_hard_setting_by_hand():
  policy = _base(_CONTINUOUS)
  behaviour = settings.behaviour_policy(policy, settings.CONTINUOUS['hard'])
  step = _time_step(1)
  centre = policy.action(step).action.numpy()[0]
  action = centre + np.float32([0.1, -0.3])
  z = (action - centre) / 0.4  # sigma 0.2 times the bound 2
  density = np.prod(np.exp(-0.5 * z**2) / (0.4 * np.sqrt(2.0 * np.pi)))
  expected = np.log(0.2 / 4.0**2 + 0.8 * density)
  found = behaviour.distribution(step).action.log_prob([action])
  np.testing.assert_allclose(found, [expected], rtol=1e-4)


@pytest.mark.parametrize(
    'action_spec, name',
    [(_CONTINUOUS, 'easy'), (_CONTINUOUS, 'hard'), (_DISCRETE, 'noise')],
)
def test_call_k_depends_on_the_seed_and_k_only(action_spec, name):
  setting = settings.setting(name, action_spec)
  policy = settings.behaviour_policy(_base(action_spec), setting)
  step = tf.nest.map_structure(lambda x: x.numpy(), _time_step(8))

  def run(seed, calls):
    py_policy = seeded.SeededPyPolicy(policy, 8, seed)
    state = py_policy.get_initial_state(8)
    actions = []
    for call in calls:
      py_policy.num_calls = call
      actions.append(py_policy.action(step, state).action)
    return np.stack(actions)

  np.testing.assert_array_equal(run(1, range(6))[4:], run(1, [4, 5]))
  assert not np.array_equal(run(1, range(9)), run(1, range(9, 18)))
  assert not np.array_equal(run(1, range(9)), run(2, range(9)))


def test_target_policies():
  continuous = settings.target_policy(_base(_CONTINUOUS))
  step = _time_step()
  noise = continuous.action(step, seed=[0, 0]).action - (
      _base(_CONTINUOUS).action(step).action
  )
  np.testing.assert_allclose(np.std(noise, axis=0), 0.2, rtol=0.06)
  discrete = settings.target_policy(_base(_DISCRETE))
  probabilities = discrete.distribution(step).action.probs_parameter()
  np.testing.assert_array_equal(np.max(probabilities, axis=1), 1.0)


def test_setting_of_the_other_kind_of_actions_is_an_error():
  with pytest.raises(errors.UserError, match='main, noise, separate'):
    settings.setting('hard', _DISCRETE)
  with pytest.raises(errors.UserError, match='easy, hard'):
    settings.setting('noise', _CONTINUOUS)


def test_sizes_and_noises_are_the_papers():
  assert settings.CONTINUOUS['easy'] == settings.BehaviourSetting(
      500_000, target_sigma=0.1, behaviour_sigma=0.133, uniform_probability=0.0
  )
  assert settings.CONTINUOUS['hard'] == settings.BehaviourSetting(
      50_000, target_sigma=0.1, behaviour_sigma=0.2, uniform_probability=0.2
  )
  assert settings.DISCRETE['main'].epsilon == 0.1
  noise = settings.DISCRETE['noise']
  assert (noise.epsilon, noise.greedy_probability) == (0.2, 0.2)
