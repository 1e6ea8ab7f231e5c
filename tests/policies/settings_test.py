"""Tests that each number of the paper's policies can be set."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.experiments import tasks
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.policies import weights
from tests.policies import models

_OBSERVATION = array_spec.ArraySpec((3,), np.float32, 'observation')
_CONTINUOUS = array_spec.BoundedArraySpec((2,), np.float32, -1.0, 1.0, 'action')
_DISCRETE = array_spec.BoundedArraySpec((), np.int64, 0, 4, 'action')
_PONG = 'ALE/Pong-v5'


def _step(batch_size):
  return ts.restart(tf.fill([batch_size, 3], 0.1), batch_size)


def _base(action_spec):
  return base.deterministic_policy(_OBSERVATION, action_spec)


def test_numbers_replace_those_of_the_setting():
  given = settings.Noise(behaviour_sigma=0.5, uniform_probability=0)
  found = settings.setting('hard', _CONTINUOUS, given)
  assert found == settings.BehaviourSetting(
      50_000, target_sigma=0.1, behaviour_sigma=0.5, uniform_probability=0.0
  )
  given = settings.Noise(epsilon=0.3, greedy_probability=0.5)
  found = settings.setting('main', _DISCRETE, given)
  assert (found.epsilon, found.greedy_probability) == (0.3, 0.5)


@pytest.mark.parametrize(
    'name, action_spec, number, own',
    [
        ('hard', _CONTINUOUS, 'epsilon', 'uniform_probability, target_sigma'),
        ('easy', _CONTINUOUS, 'greedy_probability', 'behaviour_sigma'),
        ('main', _DISCRETE, 'target_sigma', 'epsilon, greedy_probability'),
        ('noise', _DISCRETE, 'uniform_probability', 'epsilon'),
    ],
)
def test_a_number_of_other_actions_is_refused(name, action_spec, number, own):
  given = settings.Noise(**{number: 0.3})
  match = f'^{number}=0.3: this environment has .* actions.*{own}'
  with pytest.raises(errors.UserError, match=match):
    settings.setting(name, action_spec, given)


@pytest.mark.parametrize('number', settings.NUMBERS)
def test_numbers_have_ranges(number):
  for value in (-0.1, float('nan'), '0.1'):
    with pytest.raises(errors.UserError, match=f'{number}={value}: expected'):
      settings.Noise(**{number: value})


def test_the_policies_have_the_numbers():
  policy, step = _base(_CONTINUOUS), _step(4000)
  centre = policy.action(step).action
  for sigma in (0.0, 0.05):
    given = settings.Noise(
        target_sigma=sigma, behaviour_sigma=sigma, uniform_probability=0.0
    )
    found = settings.setting('hard', _CONTINUOUS, given)
    for made in (
        settings.target_policy(policy, found.target_sigma),
        settings.behaviour_policy(policy, found),
    ):
      noise = made.action(step, seed=[0, 0]).action - centre
      np.testing.assert_allclose(np.std(noise, axis=0), sigma, rtol=0.06)
  greedy, step = _base(_DISCRETE), _step(1)
  given = settings.Noise(epsilon=0.5)
  found = settings.setting('main', _DISCRETE, given)
  made = settings.behaviour_policy(greedy, found).distribution(step).action
  assert np.max(made.probs_parameter()) == pytest.approx(0.6)


def test_noise_around_uniform_actions_is_refused():
  task = tasks.Task(tasks.TaskConfig('Pendulum-v1', 'random'))
  assert task.config.target_sigma is None
  assert task.config.behaviour_sigma is None
  for number in ('target_sigma', 'behaviour_sigma'):
    with pytest.raises(errors.UserError, match=f'^{number}=0.3: there is no'):
      tasks.Task(tasks.TaskConfig('Pendulum-v1', 'random', **{number: 0.3}))


def test_policies_of_users_are_evaluated_as_they_are(tmp_path):
  specs = models.specs('Pendulum-v1')
  path = str(tmp_path / 'actor.npz')
  weights.save(path, base.actor_network(*specs, seed=2))
  step = ts.restart(tf.fill([5, 3], 0.1), 5)
  for name in ('untrained', path):
    task = tasks.Task(tasks.TaskConfig('Pendulum-v1', name))
    assert task.config.target_sigma == 0.0
    assert task.target is task.base
    # The data are made with the setting's noise all the same.
    assert task.config.behaviour_sigma == 0.2
    view = actions.target_actions(task.target)
    parameters = view.parameters(step.observation)
    expected = task.base.action(step).action
    np.testing.assert_array_equal(view.sample(parameters, None), expected)
    task = tasks.Task(tasks.TaskConfig('Pendulum-v1', name, target_sigma=0.3))
    drawn = task.target.action(step, seed=[0, 1]).action
    assert np.std(drawn - expected) > 0.1


def test_shipped_policies_have_the_papers_noise():
  for name in ('', 'pretrained', 'pretrained:weak'):
    task = tasks.Task(tasks.TaskConfig('Pendulum-v1', name))
    assert task.config.target_sigma == 0.1
    assert isinstance(task.target, composed.GaussianNoise)
  task = tasks.Task(tasks.TaskConfig('Pendulum-v1', target_sigma=0.0))
  assert task.config.target_sigma == 0.0 and task.target is task.base
  task = tasks.Task(tasks.TaskConfig('GridWalk', 'untrained'))
  assert task.config.target_sigma is None


def _load(name):
  env = environments.load(_PONG)
  specs = env.observation_spec(), env.action_spec()
  return loading.load(name, _PONG, *specs)


def _same(policy, other):
  pairs = zip(policy.variables(), other.variables(), strict=True)
  return all(np.array_equal(one, another) for one, another in pairs)


def test_separate_is_of_another_agent():
  agent, other = _load('pretrained'), _load('pretrained:separate')
  config = tasks.TaskConfig(_PONG, setting='separate')
  task = tasks.Task(config)
  assert task.config.behaviour_policy == 'pretrained:separate'
  assert task.config.behaviour_checksum == loading.checksum(other)
  assert task.config.policy_checksum == loading.checksum(agent)
  assert _same(task.behaviour, other) and _same(task.target, agent)
  assert not _same(agent, other)
  # It is also what evaluate_policy values.
  config = tasks.TaskConfig(_PONG)
  policy, name = tasks.policy_with_noise(config, settings.SEPARATE)
  assert name == 'pretrained:separate' and _same(policy, other)
  policy, name = tasks.policy_with_noise(config, 'main')
  assert name == 'pretrained' and _same(policy, agent)


@pytest.mark.parametrize(
    'fields, message',
    [
        (
            {'policy': 'untrained'},
            '^setting=separate: .* than policy=untrained; name it with'
            ' behaviour_policy',
        ),
        (
            {'policy': 'untrained', 'behaviour_policy': 'untrained'},
            'the behaviour policy untrained is the one that is evaluated',
        ),
        (
            {'policy': 'untrained', 'behaviour_policy': '/nowhere'},
            '^behaviour_policy=/nowhere: no such file',
        ),
    ],
    ids=['none', 'the same', 'not there'],
)
def test_separate_without_another_agent_is_refused(fields, message):
  with pytest.raises(errors.UserError, match=message):
    tasks.Task(tasks.TaskConfig('CartPole-v1', setting='separate', **fields))


def test_numbers_that_play_no_part_are_refused():
  for noise, field, value in (
      ('target', 'behaviour_sigma', 0.3),
      ('none', 'target_sigma', 0.3),
      ('hard', 'target_sigma', 0.3),
      ('target', 'behaviour_policy', 'untrained'),
  ):
    config = tasks.TaskConfig('Pendulum-v1', 'untrained', **{field: value})
    match = f'^{field}={value}: plays no part with noise={noise}'
    with pytest.raises(errors.UserError, match=match):
      tasks.policy_with_noise(config, noise)
