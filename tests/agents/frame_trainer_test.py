"""Tests of whole training runs on frames, short ones."""

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf.agents import configs
from srdice_tf.agents import factory
from srdice_tf.agents import trainer


@pytest.mark.parametrize('agent', ['ddqn', 'ddqn_per'])
def test_atari_runs_and_resumes(tmp_path, agent):
  parameters = configs.DdqnConfig(
      random_steps=32, replay_capacity=1_000, num_envs=2, block_steps=16,
      small_network=True,
  )
  config = configs.TrainConfig(
      'ALE/Pong-v5', agent, num_steps=48, eval_every=1_000, eval_episodes=1,
      hyperparameters=parameters,
  )
  run = trainer.AgentTrainer(config, str(tmp_path))
  run._evaluate = lambda: {}  # A whole game takes half a minute.
  for _ in range(3):
    run.train_block()
  run._save()
  run.files.add_point(
      dict(step=0, updates=0, mean_return=0, std_return=0, seconds=0),
      factory.policy_network(run.agent),
  )
  assert (run.step, run.updates) == (48, 4)
  run.close()
  resumed = trainer.AgentTrainer(config, str(tmp_path))
  assert (resumed.step, resumed.updates) == (48, 4)
  resumed.train_block()
  assert (resumed.step, resumed.updates) == (64, 8)
  if agent == 'ddqn_per':
    # The newest rows have no successor yet; an episode's last has one.
    assert 60 <= resumed._learner._priorities.server.size <= 64
  resumed.close()


def test_frames_resume_to_the_same_weights(tmp_path):
  parameters = configs.DdqnConfig(
      random_steps=32, replay_capacity=64, num_envs=2, block_steps=16,
      small_network=True, n_step=3,
  )
  config = configs.TrainConfig(
      'ALE/Pong-v5', 'ddqn', num_steps=1_000, eval_episodes=1,
      hyperparameters=parameters,
  )
  kernels = []
  for directory, parts in (('whole', [6]), ('parts', [4, 2])):
    for num_blocks in parts:
      run = trainer.AgentTrainer(config, str(tmp_path / directory))
      for _ in range(num_blocks):
        run.train_block()
      point = dict(updates=0, mean_return=0, std_return=0, seconds=0)
      run.files.add_point(
          {'step': run.step, **point}, factory.policy_network(run.agent)
      )
      run._save()
      run.close()
    assert (run.step, run.updates) == (96, 16)
    kernels.append(
        [v.numpy() for v in factory.policy_network(run.agent).variables]
    )
  for left, right in zip(*kernels, strict=True):
    np.testing.assert_array_equal(left, right)


def test_several_steps_need_frames(tmp_path):
  config = configs.TrainConfig('CartPole-v1', 'ddqn')
  with pytest.raises(errors.UserError, match='^n_step=3: CartPole-v1 has no'):
    trainer.AgentTrainer(config, str(tmp_path), {'n_step': 3})


def test_frames_need_their_history_in_the_replay(tmp_path):
  config = configs.TrainConfig('PixelCorridor', 'ddqn', num_steps=9)
  settings = {'num_envs': 5_000, 'block_steps': 1, 'random_steps': 0}
  with pytest.raises(errors.UserError, match='num_envs=5000.* at least'):
    trainer.AgentTrainer(config, str(tmp_path), settings)
