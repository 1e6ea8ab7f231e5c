"""Tests of the TD3 agent: each setting that TF-Agents' defaults differ in."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import learner
from srdice_tf.agents import td3
from srdice_tf.networks import layers

_OBSERVATIONS = array_spec.ArraySpec((3,), np.float32)
_ACTIONS = array_spec.BoundedArraySpec((2,), np.float32, -0.4, 0.4)
_BATCH = 5


def _agent(**settings):
  config = configs.Td3Config(**settings)
  return td3.make_agent(_OBSERVATIONS, _ACTIONS, config, seed=1)


def _transitions():
  rng = np.random.default_rng(0)
  draw = lambda *shape: rng.normal(size=shape).astype(np.float32)
  return collector.Steps(
      observation=draw(_BATCH, 3),
      action=rng.uniform(-0.4, 0.4, (_BATCH, 2)).astype(np.float32),
      reward=draw(_BATCH),
      discount=np.array([1, 0, 1, 1, 0], np.float32),
      next_observation=draw(_BATCH, 3),
  )


def _train(agent, transitions):
  tensors = collector.Steps(*map(tf.constant, transitions))
  return agent.train(learner.as_experience(agent, tensors))


def _values(network, *inputs):
  return network(inputs if len(inputs) > 1 else inputs[0])[0].numpy()


def _weights(network):
  return [variable.numpy() for variable in network.variables]


def _changed(before, network):
  return any((a != b).any() for a, b in zip(before, _weights(network)))


def test_critic_loss_is_the_mean_squared_td_error_of_both_critics():
  agent = _agent(target_noise=0.0, gamma=0.9)
  data = _transitions()
  next_action = _values(agent._target_actor_network, data.next_observation)
  pair = data.next_observation, next_action
  next_value = np.minimum(
      _values(agent._target_critic_network_1, *pair),
      _values(agent._target_critic_network_2, *pair),
  )
  target = data.reward + 0.9 * data.discount * next_value
  first = _values(agent._critic_network_1, data.observation, data.action)
  second = _values(agent._critic_network_2, data.observation, data.action)
  expected = np.mean((first - target) ** 2) + np.mean((second - target) ** 2)
  loss = _train(agent, data).extra.critic_loss
  np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_the_critics_start_apart_and_their_targets_alike():
  agent = _agent()
  assert _changed(_weights(agent._critic_network_1), agent._critic_network_2)
  for network, target in (
      (agent._critic_network_1, agent._target_critic_network_1),
      (agent._critic_network_2, agent._target_critic_network_2),
      (agent._actor_network, agent._target_actor_network),
  ):
    assert not _changed(_weights(network), target)


def test_smoothed_actions_stay_within_the_bounds():
  agent = _agent(target_noise=50.0, target_noise_clip=50.0)
  observations = tf.random.stateless_normal((1000, 3), (0, 0))
  actions = _values(agent._target_actor_network, observations)
  bound = np.float32(0.4)
  assert np.abs(actions).max() == bound
  assert np.mean(np.abs(actions) == bound) > 0.9


def test_target_noise_is_clipped_and_in_units_of_the_bound():
  agent = _agent(target_noise=0.2, target_noise_clip=0.5)
  observations = tf.random.stateless_normal((20_000, 3), (0, 0))
  noise = _values(agent._target_actor_network, observations) - _values(
      agent._actor_network, observations
  )
  assert np.abs(noise).max() <= 0.5 * 0.4 + 1e-6
  # Clipping at 2.5 deviations takes 2% off the deviation.
  np.testing.assert_allclose(noise.std(), 0.2 * 0.4, rtol=0.04)


def test_target_noise_depends_on_the_update():
  agent = _agent()
  observations = tf.zeros((4, 3))
  first = _values(agent._target_actor_network, observations)
  again = _values(agent._target_actor_network, observations)
  np.testing.assert_array_equal(first, again)
  agent.train_step_counter.assign_add(1)
  later = _values(agent._target_actor_network, observations)
  assert (first != later).all()


def test_actor_and_targets_move_at_every_second_update():
  agent = _agent(tau=0.1)
  actor, target = _weights(agent._actor_network), _weights(
      agent._target_critic_network_1
  )
  _train(agent, _transitions())
  assert not _changed(actor, agent._actor_network)
  assert not _changed(target, agent._target_critic_network_1)
  _train(agent, _transitions())
  assert _changed(actor, agent._actor_network)
  moved = zip(
      target,
      _weights(agent._critic_network_1),
      _weights(agent._target_critic_network_1),
  )
  for old, online, new in moved:
    np.testing.assert_allclose(new, 0.9 * old + 0.1 * online, atol=1e-6)


def test_first_step_of_adam_is_the_learning_rate():
  agent = _agent(learning_rate=1e-3)
  before = agent._critic_network_1.variables[-1].numpy()
  _train(agent, _transitions())
  after = agent._critic_network_1.variables[-1].numpy()
  np.testing.assert_allclose(np.abs(after - before), 1e-3, rtol=1e-3)
  for optimizer in (agent._critic_optimizer, agent._actor_optimizer):
    assert optimizer.epsilon == 1e-8
    assert isinstance(optimizer, layers.Adam)  # PyTorch's epsilon.
