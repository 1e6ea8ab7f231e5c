"""For users of TF-Agents: finds the best checkpoint of an agent offline.

    python -m srdice_tf.tutorial

trains Double DQN on CartPole with TF-Agents' own loop, logs its replay, saves
policies, then says from the log alone what each is worth and which one to take.
At last it plays them, which one cannot without a simulator, to see if it is so.
"""

import os
import tempfile

import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import suite_gym
from tf_agents.environments import tf_py_environment
from tf_agents.networks import q_network
from tf_agents.policies import policy_saver
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common
from tf_agents.utils import example_encoding_dataset

from srdice_tf import api

_ENV, _GAMMA, _SEED = 'CartPole-v1', 0.99, 0


def _environment():
  env = suite_gym.load(_ENV)
  env.seed(_SEED)
  return tf_py_environment.TFPyEnvironment(env)


def train(directory: str, num_policies: int, steps_between: int):
  """Returns the file of the replay, and the directories of the policies."""
  tf.random.set_seed(_SEED)
  env = _environment()
  agent = dqn_agent.DdqnAgent(
      env.time_step_spec(),
      env.action_spec(),
      q_network.QNetwork(env.observation_spec(), env.action_spec()),
      optimizer=tf.keras.optimizers.legacy.Adam(1e-3),
      epsilon_greedy=0.2,  # The log has to hold what other policies would do.
      target_update_tau=0.01,
      gamma=_GAMMA,
  )
  agent.initialize()
  spec, log = agent.collect_data_spec, os.path.join(directory, 'log.tfrecord')
  replay = tf_uniform_replay_buffer.TFUniformReplayBuffer(spec, batch_size=1)
  logger = example_encoding_dataset.TFRecordObserver(log, spec)
  driver = dynamic_step_driver.DynamicStepDriver(
      env, agent.collect_policy, [replay.add_batch, logger]
  )
  step, update = common.function(driver.run), common.function(agent.train)
  minibatches = iter(replay.as_dataset(sample_batch_size=64, num_steps=2))
  time_step, _ = step(env.reset())
  saver, policies = policy_saver.PolicySaver(agent.policy), []  # No exploring.
  for number in range(1, num_policies + 1):
    for _ in range(steps_between):
      time_step, _ = step(time_step)
      update(next(minibatches)[0])
    policies.append(os.path.join(directory, f'policy{number}'))
    saver.save(policies[-1])
  logger.close()
  return log, policies


def play(policy_directory: str, num_episodes: int) -> float:
  """Returns (1-gamma) E[sum_t gamma^t r_t] by playing."""
  policy, env, total = tf.saved_model.load(policy_directory), _environment(), 0
  for _ in range(num_episodes):
    time_step, weight = env.reset(), 1.0 - _GAMMA
    while not time_step.is_last():
      time_step = env.step(policy.action(time_step).action)
      total += weight * float(time_step.reward[0])
      weight *= _GAMMA
  return total / num_episodes


def main(num_policies=4, steps_between=2_000, num_episodes=20, **values):
  """Trains, evaluates each policy from the log alone, and picks one."""
  directory = tempfile.mkdtemp(prefix='srdice_tutorial_')
  log, policies = train(directory, num_policies, steps_between)
  algos, supported = ('deep_td', 'linear_srdice'), {}  # A verdict needs two.
  values = {'updates': 8_000, 'tau': 0.05, 'hidden_units': 64, **values}
  for policy in policies:
    found = api.evaluate(policy, log, algos, _GAMMA, 'quick', values)['deep_td']
    why = found.verdict.reasons[:1]
    print(f'{policy}: {found.value:.3f}, {found.verdict.grade}:', *why)
    if found.verdict.grade != 'do_not_use':
      supported[policy] = found.value
  print('take', max(supported, key=supported.get, default='none of them'))
  for policy in policies:
    print(f'{policy}: {play(policy, num_episodes):.3f} when played')


if __name__ == '__main__':
  main()
