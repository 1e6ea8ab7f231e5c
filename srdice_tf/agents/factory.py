"""Agents and learners by the name of the agent."""

import math

from tf_agents.agents import tf_agent
from tf_agents.specs import tensor_spec

from srdice_tf import errors
from srdice_tf import limits
from srdice_tf.agents import configs
from srdice_tf.agents import ddqn
from srdice_tf.agents import frame_learner
from srdice_tf.agents import item_learner
from srdice_tf.agents import learner
from srdice_tf.agents import td3
from srdice_tf.agents import tensor_learner
from srdice_tf.policies import base


def is_pixels(observation_spec) -> bool:
  return len(observation_spec.shape) == 3


def default_parameters(agent: str, observation_spec):
  """Returns the paper's settings, or those for a small discrete task."""
  if agent == 'td3':
    return configs.Td3Config()
  is_atari = is_pixels(observation_spec)
  return configs.DdqnConfig() if is_atari else configs.SMALL_DDQN


def check_sizes(config: configs.TrainConfig, observation_spec):
  """Checks that sizes fit the memory, and each other.

  Raises:
    UserError: naming the size that does not, and the limit.
  """
  parameters, shape = config.hyperparameters, observation_spec.shape
  learnt_steps = config.num_steps - parameters.random_steps
  if learnt_steps * parameters.updates_per_step < 1:
    raise errors.UserError(
        'random_steps',
        parameters.random_steps,
        f'num_steps={config.num_steps} and'
        f' updates_per_step={parameters.updates_per_step} leave no update to'
        ' train with; expected fewer random steps, or more steps',
    )
  # Rows of each environment that a transition of frames is put together from.
  history = 0
  if is_pixels(observation_spec):
    history = shape[-1] + parameters.n_step
  rows = max(parameters.block_steps, parameters.num_envs)
  least = 2 * rows + history * parameters.num_envs
  # Learners take no more room than that.
  room = config.num_steps + config.num_steps // 100 + 4 * rows
  if min(parameters.replay_capacity, room) < least:
    raise errors.UserError(
        'replay_capacity',
        parameters.replay_capacity,
        f'too few, or num_steps={config.num_steps} are, for'
        f' num_envs={parameters.num_envs} and'
        f' block_steps={parameters.block_steps}; expected at least {least}',
    )
  numbers = math.prod(shape)
  row_bytes = numbers // shape[-1] if history else 8 * numbers
  limits.check_memory(
      'replay_capacity',
      parameters.replay_capacity,
      lambda capacity: min(capacity, room) * row_bytes,
  )
  # Observations before and after, and what they are put together from.
  limits.check_memory(
      'batch_size', parameters.batch_size, lambda size: 16 * size * numbers
  )


def make_agent(
    config: configs.TrainConfig, observation_spec, action_spec
) -> tf_agent.TFAgent:
  """Returns the agent that `config.agent` names."""
  is_discrete = base.is_discrete(action_spec)
  if is_discrete == (config.agent == 'td3'):
    kind = 'discrete' if is_discrete else 'continuous'
    fitting = 'ddqn or ddqn_per' if is_discrete else 'td3'
    raise errors.UserError(
        'agent',
        config.agent,
        f'{config.env_id} has {kind} actions; expected {fitting}',
    )
  make = ddqn.make_agent if is_discrete else td3.make_agent
  return make(
      observation_spec, action_spec, config.hyperparameters, config.seed
  )


def make_learner(
    config: configs.TrainConfig, agent: tf_agent.TFAgent
) -> learner.Learner:
  """Returns the replay and the updates that suit agent and task."""
  parameters = config.hyperparameters
  prioritised = config.agent == 'ddqn_per'
  if is_pixels(agent.time_step_spec.observation):
    make = (
        frame_learner.PrioritisedFrameLearner
        if prioritised
        else frame_learner.FrameLearner
    )
    return make(agent, parameters, config.num_steps)
  if config.agent != 'td3' and parameters.n_step != 1:
    raise errors.UserError(
        'n_step',
        parameters.n_step,
        f'{config.env_id} has no frames; expected 1',
    )
  if prioritised:
    return item_learner.ItemLearner(agent, parameters)
  return tensor_learner.TensorLearner(agent, parameters, config.num_steps)


def policy_network(agent: tf_agent.TFAgent):
  """Returns the network whose weights make the deterministic policy."""
  is_discrete = tensor_spec.is_discrete(agent.action_spec)
  return agent._q_network if is_discrete else agent._actor_network
