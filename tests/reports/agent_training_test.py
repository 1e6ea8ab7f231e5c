"""Tests of what is said about trained and shipped policies."""

import glob
import json
import os
import pathlib

import pytest

from srdice_tf.agents import configs
from srdice_tf.agents import run_files
from srdice_tf.policies import weights
from srdice_tf.reports import agent_training

_README = pathlib.Path(weights.__file__).with_name('README.md')
_CARDS = sorted(glob.glob(os.path.join(weights.PRETRAINED_DIR, '*', '*.json')))


class _Network:
  variables = ()


def test_the_summary_names_the_last_point_and_the_best(tmp_path):
  files = run_files.RunFiles(str(tmp_path))
  for step, value in ((0, -5.0), (1_000, 30.25), (2_000, 20.0)):
    point = {
        'step': step, 'updates': step // 2, 'mean_return': value,
        'std_return': 1.5, 'seconds': step * 0.06,
    }
    files.add_point(point, _Network())
  config = configs.TrainConfig('CartPole-v1', 'ddqn', seed=3)
  text = agent_training.finish(config, files)
  assert 'CartPole-v1, ddqn, seed 3' in text
  assert '2,000 with 1,000 updates in 2.0 minutes' in text
  assert 'return        20.0 +- 1.5 (std), 10 deterministic' in text
  assert 'best          30.2 +- 1.5 (std), at step 1,000' in text
  assert f'{tmp_path}/snapshots/000001000.npz (weights, best)' in text
  assert f'--env=CartPole-v1 --policy={tmp_path}/policy' in text
  assert (tmp_path / 'curve.png').exists()


@pytest.mark.parametrize('path', _CARDS)
def test_the_readme_has_what_the_cards_say(path):
  with open(path) as file:
    line = agent_training.row(json.load(file))
  assert line in _README.read_text().splitlines()


def test_there_are_cards():
  assert len(_CARDS) >= 9
