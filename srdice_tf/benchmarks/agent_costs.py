"""Speed of training a policy: our TD3 step and collector against TF-Agents'."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.td3 import td3_agent
from tf_agents.drivers import py_driver
from tf_agents.policies import gaussian_policy
from tf_agents.policies import py_tf_eager_policy

from srdice_tf import environments
from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import exploration
from srdice_tf.agents import learner
from srdice_tf.agents import policy_returns
from srdice_tf.agents import speed
from srdice_tf.agents import td3
from srdice_tf.benchmarks import measure

_NUM_UPDATES, _NUM_STEPS, _NUM_ROWS, _ROUNDS = 100, 1000, 10_000, 9
_CONFIG = configs.Td3Config(random_steps=0)
_LEAST_GAIN = 1.05  # What code of our own must win to be kept.


def learning(env_id: str) -> list[measure.Measurement]:
  """Where the time of training goes."""
  found = speed.measure_td3(env_id)
  return [
      measure.at_most(
          f'TD3 on {env_id}: share of time outside of the update',
          found.share_outside,
          0.3,
          f'{found.steps_per_second:.0f} steps/s with learning,'
          f' {found.update_milliseconds:.1f} ms an update',
      )
  ]


def updating(env_id: str) -> list[measure.Measurement]:
  """Compares the steps of the two agents, with random data."""
  specs = _specs(env_id)
  works = {
      kind.__name__: _updates(td3.make_agent(*specs, _CONFIG, 0, kind), specs)
      for kind in (td3.DelayedTd3Agent, td3_agent.Td3Agent)
  }
  return [_compared(f'TD3 updates/s, {env_id}', works)]


def stepping(env_id: str) -> list[measure.Measurement]:
  """Compares ways to collect with the exploring policy, 4 environments."""
  agent = td3.make_agent(*_specs(env_id), _CONFIG, 0)
  works = {
      'Collector': _collect(agent, env_id),
      'PyDriver': _drive(agent, env_id),
  }
  return [_compared(f'steps/s of exploration, {env_id}', works)]


def _specs(env_id: str):
  env = environments.load(env_id)
  env.close()
  return env.observation_spec(), env.action_spec()


def _compared(name: str, works: dict[str, Callable[[], int]]):
  for work in works.values():
    work()  # The first call compiles.
  rates = measure.alternate(works, _ROUNDS)
  (ours, fast), (theirs, slow) = rates.items()
  return measure.at_least(
      f'{name}: {ours} / {theirs}',
      fast / slow,
      _LEAST_GAIN,
      f'{fast:,.0f} and {slow:,.0f}',
  )


def _updates(agent: tf_agent.TFAgent, specs) -> Callable[[], int]:
  """Returns a function that makes some updates in one compiled call."""
  rng = np.random.default_rng(0)
  observation, action = (spec.shape for spec in specs)
  shapes = observation, action, (), (), observation
  rows = collector.Steps(*(
      tf.constant(rng.normal(size=(_NUM_ROWS, *shape)), tf.float32)
      for shape in shapes
  ))

  @tf.function(autograph=False)
  def train():
    chosen = tf.random.stateless_uniform(
        (_NUM_UPDATES, _CONFIG.batch_size), (0, 0), 0, _NUM_ROWS, tf.int32
    )  # [K, B]

    def update(i, total):
      batch = collector.Steps(*(tf.gather(part, chosen[i]) for part in rows))
      experience = learner.as_experience(agent, batch)
      return i + 1, total + agent.train(experience).loss

    condition = lambda i, _: i < _NUM_UPDATES
    return tf.while_loop(condition, update, (0, tf.constant(0.0)))[1]

  def work():
    train().numpy()
    return _NUM_UPDATES

  return work


def _collect(agent: tf_agent.TFAgent, env_id: str) -> Callable[[], int]:
  source = collector.Collector(env_id, _CONFIG.num_envs, seed=0)
  choose = exploration.gaussian(
      policy_returns.compiled_actions(agent.policy),
      source.env.action_spec(),
      _CONFIG,
      step=0,
      rng=np.random.default_rng(0),
  )
  return lambda: len(source.collect(choose, _NUM_STEPS).reward)


def _drive(agent: tf_agent.TFAgent, env_id: str) -> Callable[[], int]:
  """Returns the same work, done with TF-Agents' own parts."""
  env = environments.load_batch(env_id, _CONFIG.num_envs)
  policy = py_tf_eager_policy.PyTFEagerPolicy(
      gaussian_policy.GaussianPolicy(
          agent.policy, scale=_CONFIG.exploration_noise, clip=True
      ),
      use_tf_function=True,
      batch_time_steps=False,
  )
  rows = []
  driver = py_driver.PyDriver(env, policy, [rows.append], max_steps=_NUM_STEPS)

  def work():
    rows.clear()
    driver.run(env.reset(), policy.get_initial_state(_CONFIG.num_envs))
    block = tf.nest.map_structure(lambda *parts: np.stack(parts), *rows)
    return block.reward.size

  return work
