"""Tests of trainings that failed, or were killed at their beginning."""

import pytest

from srdice_tf import errors
from srdice_tf.agents import configs
from srdice_tf.agents import factory
from srdice_tf.agents import run_files
from srdice_tf.agents import trainer


def test_without_a_checkpoint_all_points_are_made_again(tmp_path):
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=2_000, eval_every=500, eval_episodes=1
  )
  run = trainer.AgentTrainer(config, str(tmp_path))
  point = dict.fromkeys(run_files.CURVE_FIELDS, 0.0)
  run.files.add_point(point, factory.policy_network(run.agent))
  run.close()
  again = trainer.AgentTrainer(config, str(tmp_path))
  assert again.files.curve() == []
  again.close()


def test_a_rate_that_is_too_large_is_one_line(tmp_path):
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=100, eval_every=100, eval_episodes=1
  )
  fields = {'learning_rate': 1e20, 'random_steps': 40, 'block_steps': 10}
  run = trainer.AgentTrainer(config, str(tmp_path), fields)
  with pytest.raises(errors.UserError, match='loss of agent=ddqn is nan at'):
    run.train()
  run.close()


def test_frames_need_their_history_in_the_replay(tmp_path):
  config = configs.TrainConfig('PixelCorridor', 'ddqn', num_steps=9)
  settings = {'num_envs': 5_000, 'block_steps': 1, 'random_steps': 0}
  with pytest.raises(errors.UserError, match='num_envs=5000.* at least'):
    trainer.AgentTrainer(config, str(tmp_path), settings)
