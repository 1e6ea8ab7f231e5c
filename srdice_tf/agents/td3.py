"""TF-Agents' TD3 agent with the settings of the paper."""

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.td3 import td3_agent
from tf_agents.networks import network as network_lib
from tf_agents.networks import sequential
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf.agents import configs
from srdice_tf.networks import layers
from srdice_tf.policies import base


def critic_network(observation_spec, action_spec, seed: int):
  """Returns Q(s, a): 256-256 ReLU on the concatenated pair, output [B]."""
  rng = np.random.default_rng(seed)
  specs = tensor_spec.from_spec((observation_spec, action_spec))
  fan_in = int(sum(np.prod(spec.shape) for spec in specs))
  stack = [tf.keras.layers.Lambda(lambda pair: tf.concat(pair, -1))]
  for units in base.HIDDEN_UNITS:
    stack.append(base.dense(units, fan_in, rng, 'relu'))
    fan_in = units
  stack.append(base.dense(1, fan_in, rng))
  stack.append(tf.keras.layers.Lambda(lambda q: tf.squeeze(q, -1)))
  network = sequential.Sequential(stack, input_spec=specs)
  network.create_variables()
  return network


class SmoothedActor(network_lib.Network):
  """The target actor: adds clipped noise and stays within the bounds.

  TF-Agents' agent adds the noise itself, but its actions may leave the bounds,
  and it draws from a generator that no checkpoint holds. Here the number of the
  update is the seed.
  """

  def __init__(self, actor, action_spec, config: configs.Td3Config, seed, step):
    super().__init__(input_tensor_spec=actor.input_tensor_spec)
    self._actor = actor
    self._low = np.asarray(action_spec.minimum)  # [A]
    self._high = np.asarray(action_spec.maximum)  # [A]
    self._bound = (self._high - self._low) / 2.0  # [A]
    self._config = config
    # In a closure: as an attribute, the counter would count as a weight.
    self._noise_seed = lambda: tf.stack([tf.cast(seed, tf.int64), step])

  def call(self, observation, step_type=None, network_state=(), training=False):
    actions, network_state = self._actor(
        observation, step_type, network_state, training=training
    )  # [B, A]
    noise = tf.random.stateless_normal(tf.shape(actions), self._noise_seed())
    clip = self._config.target_noise_clip
    noise = tf.clip_by_value(self._config.target_noise * noise, -clip, clip)
    actions = actions + noise * self._bound  # [B, A]
    return tf.clip_by_value(actions, self._low, self._high), network_state


class DelayedTd3Agent(td3_agent.Td3Agent):
  """Computes the actor's loss only where the actor is updated.

  TF-Agents' own step computes it each time and uses every second one. It takes
  1.08 to 1.10 times as long (`benchmark.py --only=td3`, one thread, with the
  sizes of Humanoid, Pendulum and HalfCheetah). Here the actor moves at updates
  2, 4, ..., as the targets do; with TF-Agents' own step at 1, 3, ...
  """

  def _train(self, experience, weights=None):
    steps, policy_steps, next_steps = self._as_transition(experience)
    variables = (
        self._critic_network_1.trainable_variables
        + self._critic_network_2.trainable_variables
    )
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(variables)
      critic_loss = self.critic_loss(
          steps, policy_steps.action, next_steps, weights, training=True
      )
    gradients = tape.gradient(critic_loss, variables)
    self._apply_gradients(gradients, variables, self._critic_optimizer)
    self.train_step_counter.assign_add(1)
    is_actor_step = tf.equal(
        tf.math.mod(self.train_step_counter, self._actor_update_period), 0
    )
    actor_loss = tf.cond(
        is_actor_step, lambda: self._train_actor(steps), lambda: 0.0
    )
    self._update_target()
    info = td3_agent.Td3Info(actor_loss, critic_loss)
    return tf_agent.LossInfo(critic_loss, info)

  def _train_actor(self, steps):
    variables = self._actor_network.trainable_variables
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(variables)
      loss = self.actor_loss(steps, training=True)
    gradients = tape.gradient(loss, variables)
    self._apply_gradients(gradients, variables, self._actor_optimizer)
    return loss


def make_agent(
    observation_spec,
    action_spec,
    config: configs.Td3Config,
    seed: int,
    agent_class: type[td3_agent.Td3Agent] = DelayedTd3Agent,
) -> td3_agent.Td3Agent:
  """Returns the initialised agent.

  Args:
    observation_spec: of the environment, an array spec.
    action_spec: of the environment, a bounded array spec.
    config: the settings.
    seed: of the weights and of the target noise.
    agent_class: whose step is used; a benchmark compares the two.
  """
  adams = [
      layers.adam(config.learning_rate, config.adam_epsilon) for _ in range(2)
  ]
  seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(4)]
  step = tf.Variable(0, dtype=tf.int64, name='train_step')
  critics = [
      critic_network(observation_spec, action_spec, s)
      for s in (seeds[1], seeds[2], seeds[1], seeds[2])
  ]
  target_actor = SmoothedActor(
      base.actor_network(observation_spec, action_spec, seeds[0]),
      action_spec, config, seeds[3], step,
  )
  agent = agent_class(
      tensor_spec.from_spec(ts.time_step_spec(observation_spec)),
      tensor_spec.from_spec(action_spec),
      actor_network=base.actor_network(observation_spec, action_spec, seeds[0]),
      critic_network=critics[0],
      critic_network_2=critics[1],
      target_actor_network=target_actor,
      target_critic_network=critics[2],
      target_critic_network_2=critics[3],
      actor_optimizer=adams[0],
      critic_optimizer=adams[1],
      target_update_tau=config.tau,
      target_update_period=config.delay,
      actor_update_period=config.delay,
      td_errors_loss_fn=tf.math.squared_difference,
      gamma=config.gamma,
      target_policy_noise=0.0,  # In the target actor.
      train_step_counter=step,
  )
  agent.initialize()
  adams[0].build(agent._actor_network.trainable_variables)
  adams[1].build(
      critics[0].trainable_variables + critics[1].trainable_variables
  )
  return agent
