"""Tests of the Double DQN agent against hand-written targets."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import ddqn
from srdice_tf.agents import learner

_OBSERVATIONS = array_spec.ArraySpec((3,), np.float32)
_ACTIONS = array_spec.BoundedArraySpec((), np.int64, 0, 3)


def _agent(**settings):
  config = configs.DdqnConfig(**settings)
  return ddqn.make_agent(_OBSERVATIONS, _ACTIONS, config, seed=1)


def _transitions(batch=6):
  rng = np.random.default_rng(0)
  draw = lambda *shape: rng.normal(size=shape).astype(np.float32)
  return collector.Steps(
      observation=draw(batch, 3),
      action=rng.integers(4, size=batch),
      reward=3.0 * draw(batch),
      discount=np.array([1, 0, 1, 1, 0, 1], np.float32),
      next_observation=draw(batch, 3),
  )


def _train(agent, transitions, weights=None):
  tensors = collector.Steps(*map(tf.constant, transitions))
  return agent.train(learner.as_experience(agent, tensors), weights)


def _huber(x):
  return np.where(np.abs(x) <= 1.0, 0.5 * x**2, np.abs(x) - 0.5)


def _td_errors(agent, data, gamma):
  """The online network chooses the next action, the target one values it."""
  rows = np.arange(len(data.reward))
  online = agent._q_network(data.next_observation)[0].numpy()
  target = agent._target_q_network(data.next_observation)[0].numpy()
  next_value = target[rows, online.argmax(1)]
  value = agent._q_network(data.observation)[0].numpy()[rows, data.action]
  return data.reward + gamma * data.discount * next_value - value


def _make_target_differ(agent):
  for variable in agent._target_q_network.variables:
    variable.assign(-variable)


def test_loss_is_hubers_of_the_double_q_error():
  agent = _agent(gamma=0.9)
  _make_target_differ(agent)
  data = _transitions()
  errors = _td_errors(agent, data, 0.9)
  info = _train(agent, data)
  np.testing.assert_allclose(info.extra.td_error, errors, rtol=1e-4)
  np.testing.assert_allclose(info.loss, _huber(errors).mean(), rtol=1e-5)


def test_weights_scale_each_loss():
  agent = _agent()
  data = _transitions()
  errors = _td_errors(agent, data, 0.99)
  weights = np.linspace(0.0, 1.0, 6).astype(np.float32)
  info = _train(agent, data, tf.constant(weights))
  expected = np.mean(weights * _huber(errors))
  np.testing.assert_allclose(info.loss, expected, rtol=1e-5)


def test_the_target_is_copied_each_period_of_environment_steps():
  # 8 steps at 0.25 updates a step are 2 updates.
  agent = _agent(target_period=8, updates_per_step=0.25)
  kernel = lambda network: network.variables[0].numpy()
  start = kernel(agent._target_q_network)
  _train(agent, _transitions())
  np.testing.assert_array_equal(kernel(agent._target_q_network), start)
  _train(agent, _transitions())
  np.testing.assert_array_equal(
      kernel(agent._target_q_network), kernel(agent._q_network)
  )


def test_learning_rate_falls_to_a_tenth():
  agent = _agent(
      learning_rate=1e-3, learning_rate_decay_steps=200, updates_per_step=0.5
  )
  rate = agent._optimizer.learning_rate
  rates = [float(rate(updates)) for updates in (0, 50, 500)]
  np.testing.assert_allclose(rates, [1e-3, 5.5e-4, 1e-4], rtol=1e-5)


def test_first_step_has_the_papers_epsilon():
  """Added to the corrected root, as PyTorch does: g / (|g| + epsilon)."""
  agent = _agent(learning_rate=1e-3)
  data = _transitions()
  scale = 1e-4  # Gradients about as small as epsilon.
  network = agent._q_network
  bias = network.variables[-1]
  before = bias.numpy()
  slopes = np.clip(_td_errors(agent, data, 0.99), -1.0, 1.0)
  gradient = np.zeros(4)
  np.add.at(gradient, data.action, -scale * slopes / len(slopes))
  _train(agent, data, tf.fill([len(slopes)], np.float32(scale)))
  expected = before - 1e-3 * gradient / (np.abs(gradient) + 1.5e-4)
  np.testing.assert_allclose(bias, expected, rtol=1e-3, atol=1e-7)
