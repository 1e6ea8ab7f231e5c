"""TF-Agents' Double DQN agent with the settings of the paper."""

import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from srdice_tf.agents import configs
from srdice_tf.networks import layers
from srdice_tf.policies import base

_FINAL_RATE = 0.1  # Of the first learning rate, if it falls.


def make_agent(
    observation_spec, action_spec, config: configs.DdqnConfig, seed: int
) -> dqn_agent.DdqnAgent:
  """Returns the initialised agent; arguments as for TD3."""
  target_period = round(config.target_period * config.updates_per_step)
  trunk = base.SMALL_TRUNK if config.small_network else base.PAPER_TRUNK
  network = lambda: base.q_network(observation_spec, action_spec, seed, trunk)
  optimizer = layers.adam(_learning_rate(config), config.adam_epsilon)
  agent = dqn_agent.DdqnAgent(
      tensor_spec.from_spec(ts.time_step_spec(observation_spec)),
      tensor_spec.from_spec(action_spec),
      q_network=network(),
      target_q_network=network(),
      optimizer=optimizer,
      epsilon_greedy=config.final_epsilon,
      target_update_period=max(1, target_period),
      td_errors_loss_fn=common.element_wise_huber_loss,
      gamma=config.gamma,
      train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
  )
  agent.initialize()
  optimizer.build(agent._q_network.trainable_weights)
  return agent


def _learning_rate(config):
  """Returns a number, or a schedule of the updates."""
  steps = config.learning_rate_decay_steps
  if not steps:
    return config.learning_rate
  return tf.keras.optimizers.schedules.PolynomialDecay(
      config.learning_rate,
      max(1, round(steps * config.updates_per_step)),
      end_learning_rate=_FINAL_RATE * config.learning_rate,
  )
