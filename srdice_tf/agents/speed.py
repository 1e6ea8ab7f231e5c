"""How fast training is, and where its time goes."""

import dataclasses
import tempfile

from srdice_tf.agents import configs
from srdice_tf.agents import trainer


@dataclasses.dataclass(frozen=True)
class Speed:
  """Measured over blocks of collecting and learning.

  Attributes:
    steps_per_second: in the environment, each with one update of the agent.
    update_milliseconds: of one update, in the compiled call.
    share_outside: share of the time that is not spent in compiled updates.
  """

  steps_per_second: float
  update_milliseconds: float
  share_outside: float


def measure_td3(env_id: str, num_blocks: int = 20) -> Speed:
  """Trains TD3 with the paper's settings for a few blocks of steps."""
  parameters = configs.Td3Config(random_steps=1_000, replay_capacity=100_000)
  config = configs.TrainConfig(env_id, hyperparameters=parameters)
  with tempfile.TemporaryDirectory() as directory:
    run = trainer.AgentTrainer(config, directory)
    while run.updates == 0:  # The first updates are slow: tracing.
      run.train_block()
    run.seconds.update(collect=0.0, learn=0.0)
    step, updates = run.step, run.updates
    for _ in range(num_blocks):
      run.train_block()
    run.close()
  seconds = run.seconds['collect'] + run.seconds['learn']
  return Speed(
      steps_per_second=(run.step - step) / seconds,
      update_milliseconds=1e3 * run.seconds['learn'] / (run.updates - updates),
      share_outside=run.seconds['collect'] / seconds,
  )
