"""Trains a target policy with TD3 or Double DQN.

  python binaries/train_policy.py --env=Hopper-v4 --agent=td3

The same command resumes a stopped run. The run directory holds the learning
curve (evaluations.csv, events/ for TensorBoard), the weights at each of its
points (snapshots/), and at the end a picture of the curve (curve.png) and a
SavedModel of the policy (policy/).
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags
import tensorflow as tf

from binaries import cli
from binaries import common_flags
from binaries import config_flags
from srdice_tf import config_file
from srdice_tf.agents import configs
from srdice_tf.agents import shipping
from srdice_tf.agents import trainer
from srdice_tf.logging import progress
from srdice_tf.logging import tensorboard
from srdice_tf.reports import agent_training

_ENV = common_flags.define_env()
_SEED = common_flags.define_seed()
_AGENT = flags.DEFINE_enum(
    'agent', 'td3', configs.AGENTS,
    'Agent to train: td3 for continuous actions, ddqn for discrete ones, '
    'ddqn_per for discrete ones with prioritised replay.',
)
_NUM_STEPS = flags.DEFINE_integer(
    'num_steps', 1_000_000, 'Number of steps to train for.', lower_bound=1
)
_EVAL_EVERY = flags.DEFINE_integer(
    'eval_every', 20_000,
    'Steps between two evaluations; each one also writes a checkpoint.',
    lower_bound=1,
)
_EVAL_EPISODES = flags.DEFINE_integer(
    'eval_episodes', 10, 'Number of episodes in an evaluation.', 1
)
_SETTINGS = config_flags.define_fields(configs.Td3Config, configs.DdqnConfig)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None,
    'Directory of the run; default: runs/train/<env>/<agent>-<seed>.',
)
_NUM_THREADS = flags.DEFINE_integer(
    'num_threads', 1,
    'Threads that TensorFlow uses; small networks gain little from more.',
    1, 1024,
)
_SHIP = flags.DEFINE_bool(
    'ship', False,
    'Instead of training, choose weights of the run so far, measure them, and '
    'write them with their card into srdice_tf/policies/pretrained/<env>/.',
)


def main(_) -> None:
  tf.config.threading.set_intra_op_parallelism_threads(_NUM_THREADS.value)
  tf.config.threading.set_inter_op_parallelism_threads(_NUM_THREADS.value)
  config = configs.TrainConfig(
      env_id=_ENV.value,
      agent=_AGENT.value,
      num_steps=_NUM_STEPS.value,
      seed=_SEED.value,
      eval_every=_EVAL_EVERY.value,
      eval_episodes=_EVAL_EPISODES.value,
  )
  name = f'{config.agent}-{config.seed}'
  output_dir = _OUTPUT_DIR.value or os.path.join(
      'runs', 'train', config.env_id.replace('/', '_'), name
  )
  if _SHIP.value:
    print(agent_training.row(shipping.ship(output_dir)))
    return
  with config_file.hold(output_dir):
    run = trainer.AgentTrainer(config, output_dir, _SETTINGS())
    label = f'{config.env_id} {name}'
    with progress.Progress(config.num_steps, 'steps', label, run.step) as bar:
      run.train(
          report=lambda step, values: bar.update(
              step, run.seconds_left(), **values
          ),
          log=tensorboard.TensorBoard(run.files.path('events')).write,
      )
    run.close()
    print(agent_training.finish(run.config, run.files))


if __name__ == '__main__':
  cli.run(main)
