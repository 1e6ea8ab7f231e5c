"""Tests of how long runs still take, with a clock made by hand."""

import dataclasses

import pytest

from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import costs
from srdice_tf.experiments import remaining
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks


def _entry(path, name, seconds=100.0, **values):
  config = runs.RunConfig(
      tasks.TaskConfig('HalfCheetah-v4', setting='hard'),
      ('srdice', 'deep_td'),
      hyperparameters.Hyperparameters(
          encoder_steps=1000, successor_steps=1000, updates=2000, **values
      ),
      0,
  )
  return sweep.Entry(config, str(path / name), seconds=seconds)


def _write(entry, phase, step):
  with open(f'{entry.directory}/metrics.csv', 'w') as file:
    file.write(f'method,phase,step,name,value\nm,{phase},{step},loss,0.5\n')


def test_phases_in_their_order(tmp_path):
  config = _entry(tmp_path, 'a').config
  found = costs.phases(config)
  assert list(found) == ['encoder', 'successor', 'srdice', 'deep_td']
  assert costs.seconds(config) == pytest.approx(
      costs.START + sum(cost for _, cost in found.values())
  )
  over_phi = dataclasses.replace(
      config, algos=('dual_dice',),
      hyperparameters=config.hyperparameters.replace(dice_inputs='phi'),
  )
  assert list(costs.phases(over_phi)) == ['encoder', 'dual_dice']


def test_the_share_of_a_run(tmp_path):
  entry = _entry(tmp_path, 'a')
  assert remaining.share_done(entry) == 0.0
  (tmp_path / 'a').mkdir()
  cost = [cost for _, cost in costs.phases(entry.config).values()]
  _write(entry, 'successor', 500)
  share = (cost[0] + 0.5 * cost[1]) / sum(cost)
  assert remaining.share_done(entry) == pytest.approx(share)
  _write(entry, 'deep_td', 2000)
  assert remaining.share_done(entry) == pytest.approx(1.0)


def test_the_pace_is_that_of_the_running_runs(tmp_path):
  now = [0.0]
  left = remaining.Remaining(clock=lambda: now[0])
  first, second = _entry(tmp_path, 'a'), _entry(tmp_path, 'b')
  (tmp_path / 'a').mkdir()
  left.on_running([first])
  assert left.seconds([first, second], 1) == pytest.approx(200.0)
  assert left.seconds([first, second], 2) == pytest.approx(100.0)
  # It takes twice as long as was expected.
  _write(first, 'successor', 500)
  share = remaining.share_done(first)
  now[0] = 200.0 * share
  left.on_running([first])
  wanted = 200.0 * (1.0 - share) + 200.0
  assert left.seconds([first, second], 1) == pytest.approx(wanted)
  # So is that of those that are done.
  now[0] = 200.0
  left.on_end(first, True)
  assert left.seconds([second], 1) == pytest.approx(200.0)
