"""Tests of runs that are kept with the package, without running any."""

import dataclasses
import json
import os

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import chain
from srdice_tf.experiments import chain_methods
from srdice_tf.experiments import jobs
from srdice_tf.experiments import kept_runs
from srdice_tf.experiments import random_rewards
from srdice_tf.experiments import result_file
from srdice_tf.experiments import reward_tables
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks
from tests.reports import hand_made

_RUN = os.path.join('hard', 'A', 'seed0')


def _entry(root, **values):
  config = runs.RunConfig(
      tasks.TaskConfig('FiveStateChain', 'random', 'main'),
      ('deep_td',),
      hyperparameters.Hyperparameters(**values),
      0,
      dataset_dir=str(root / 'data' / 'x'),
      data_root=str(root / 'data'),
  )
  return sweep.Entry(config, str(root / _RUN))


def _finish(entry):
  """Leaves behind what a run leaves."""
  os.makedirs(entry.directory)
  with open(os.path.join(entry.directory, 'config.json'), 'w') as file:
    json.dump(entry.config.describe('abc'), file)
  with open(os.path.join(entry.directory, 'origin.json'), 'w') as file:
    json.dump({'Python': '3'}, file)
  found = dataclasses.replace(
      hand_made.result('deep_td', -3.0), verdict=results.Verdict('usable')
  )
  result_file.write(
      entry.directory, results.Evaluation({'deep_td': found}, 0.99, 0)
  )


def _kept(tmp_path, place):
  return kept_runs.KeptRuns(str(place), 'desk', str(tmp_path / 'kept'))


@pytest.fixture(name='line')
def _line(tmp_path):
  """Keeps a run; returns the path of the file."""
  entry = _entry(tmp_path / 'here')
  _finish(entry)
  kept = _kept(tmp_path, tmp_path / 'here')
  assert kept.keep([entry], 'easy') == 0
  assert kept.keep([entry], 'hard') == 1
  return tmp_path / 'kept' / 'desk' / 'hard.jsonl'


def test_a_kept_run_is_done_elsewhere(tmp_path, line):
  assert str(tmp_path) not in line.read_text()
  entry = _entry(tmp_path / 'there')
  assert jobs.found(entry) is None
  assert _kept(tmp_path, tmp_path / 'there').restore(entry) == ''
  assert jobs.found(entry) == jobs.found(_entry(tmp_path / 'here'))
  with open(os.path.join(entry.directory, 'origin.json')) as file:
    assert json.load(file) == {'Python': '3'}
  other = dataclasses.replace(entry, directory=f'{entry.directory}x')
  assert _kept(tmp_path, tmp_path / 'there').restore(other) == ''
  assert not os.path.exists(other.directory)


def test_what_follows_by_rules_that_may_change_is_not_kept(tmp_path, line):
  path = os.path.join(_entry(tmp_path / 'here').directory, 'result.json')
  with open(path) as file:
    assert json.load(file)['recommended'] == 'deep_td'
  kept = json.loads(line.read_text())['result']
  assert not {'recommended', 'grade'} & {*kept}


def test_a_run_of_other_settings_is_left_alone(tmp_path, line):
  entry = _entry(tmp_path / 'there', updates=5)
  reason = _kept(tmp_path, tmp_path / 'there').restore(entry)
  assert reason.startswith('hyperparameters.value_function.updates=250000')
  assert reason.endswith('asked for is 5')
  assert not os.path.exists(entry.directory)


def _edit(line, change):
  content = json.loads(line.read_text())
  change(content)
  line.write_text(json.dumps(content) + '\n')


def test_fields_that_are_newer_than_the_run_have_their_default(tmp_path, line):
  def forget(content):
    del content['config']['hyperparameters']['value_function']['tau']
    del content['config']['task']['gamma']
    del content['config']['num_parts']

  _edit(line, forget)
  default, other = _entry(tmp_path / 'a'), _entry(tmp_path / 'b', tau=0.5)
  assert _kept(tmp_path, tmp_path / 'a').restore(default) == ''
  assert jobs.found(default) is not None
  reason = _kept(tmp_path, tmp_path / 'b').restore(other)
  assert '.tau=0.005, asked for is 0.5' in reason


@pytest.mark.parametrize('text', ['{', '[]', '{"run": "A/seed0"}'])
def test_damage_is_one_line(tmp_path, line, text):
  line.write_text(text)
  with pytest.raises(errors.UserError, match='hard.jsonl:1: is not a kept'):
    _kept(tmp_path, tmp_path).restore(_entry(tmp_path))
  assert not (tmp_path / 'hard').exists()


def test_an_edited_result_is_one_line(tmp_path, line):
  _edit(line, lambda content: content['result'].update(gamma=0.5))
  entry = _entry(tmp_path / 'there')
  with pytest.raises(errors.UserError, match='hard.jsonl: was cut .*edited'):
    _kept(tmp_path, tmp_path / 'there').restore(entry)
  assert not os.path.exists(entry.directory)


def test_random_rewards_are_kept_without_ratios(tmp_path, line):
  del line
  here = tmp_path / 'here'
  config = random_rewards.RandomRewardsConfig(run_dir=str(here / _RUN))
  entry = sweep.Entry(config, str(here / 'random_rewards' / 'A'))
  os.makedirs(entry.directory)
  content = {
      **dataclasses.asdict(config), 'dataset_checksum': 'abc',
      'ratios_checksum': 'def',
  }
  with open(os.path.join(entry.directory, 'config.json'), 'w') as file:
    json.dump(content, file)
  truths, means = np.array([0.3, 0.5]), np.array([0.4, 0.4])
  estimates = {'srdice': np.array([1 / 3, np.nan]), 'behaviour': means}
  study = results.RandomRewards(
      'E', 'hard', 0, np.array([1, 7]), truths, truths / 10, means, estimates,
      reward_tables.log_mses(estimates, truths, means),
  )
  path = os.path.join(entry.directory, random_rewards.TABLE)
  reward_tables.write(path, study)
  assert _kept(tmp_path, here).keep([entry], 'random_rewards') == 1
  # Elsewhere the run is kept, too, and so has no ratios.
  there = tmp_path / 'there'
  assert not _kept(tmp_path, there).restore(_entry(there))
  moved = sweep.Entry(
      dataclasses.replace(config, run_dir=str(there / _RUN)),
      str(there / 'random_rewards' / 'A'),
  )
  assert not _kept(tmp_path, there).restore(moved)
  found = jobs.found(moved)
  np.testing.assert_array_equal(found.numbers, study.numbers)
  for name, errors_ in study.log_mses.items():
    np.testing.assert_allclose(found.log_mses[name], errors_, rtol=1e-4)
  fewer = dataclasses.replace(moved.config, num_rewards=5)
  again = sweep.Entry(fewer, f'{moved.directory}')
  assert _kept(tmp_path, there).restore(again).startswith('num_rewards=1000')


def test_the_chain_is_kept(tmp_path):
  config = chain.ChainConfig(num_trials=2, num_steps=200)
  steps = np.array([100, 200])
  curves = [
      chain.ChainCurve(features, method, steps, np.array([[-1.0, -2.25]] * 2))
      for features in chain_methods.FEATURES
      for method in chain_methods.METHODS
  ]
  here, there = (
      sweep.Entry(config, str(tmp_path / place / 'chain' / 'chain'))
      for place in ('here', 'there')
  )
  os.makedirs(here.directory)
  chain.write_csv(os.path.join(here.directory, chain.CSV), curves)
  with open(os.path.join(here.directory, 'config.json'), 'w') as file:
    json.dump(dataclasses.asdict(config), file)
  assert _kept(tmp_path, tmp_path / 'here').keep([here], 'chain') == 1
  assert _kept(tmp_path, tmp_path / 'there').restore(there) == ''
  for old, new in zip(jobs.found(here), jobs.found(there), strict=True):
    assert (old.features, old.method) == (new.features, new.method)
    np.testing.assert_array_equal(old.steps, new.steps)
    np.testing.assert_array_equal(old.log_mse, new.log_mse)
  other = chain.ChainConfig(num_trials=3, num_steps=200)
  elsewhere = sweep.Entry(other, str(tmp_path / 'else' / 'chain' / 'chain'))
  reason = _kept(tmp_path, tmp_path / 'else').restore(elsewhere)
  assert reason == 'num_trials=2, asked for is 3'


@pytest.mark.parametrize('part', ['config', 'result'])
def test_a_damaged_line_is_one_error(tmp_path, line, part):
  content = json.loads(line.read_text())
  content[part] = []
  line.write_text(json.dumps(content) + '\n')
  entry = _entry(tmp_path / 'there')
  with pytest.raises(errors.UserError, match='hard.jsonl.*restore it'):
    _kept(tmp_path, tmp_path / 'there').restore(entry)


def test_experiments_that_are_kept(tmp_path, line):
  assert kept_runs.experiments(str(tmp_path / 'kept')) == [('desk', 'hard')]
  (line.parent / 'easy.jsonl').write_text('')
  (line.parent / 'easy.csv').write_text('')
  found = kept_runs.experiments(str(tmp_path / 'kept'))
  assert found == [('desk', 'easy'), ('desk', 'hard')]
  assert not kept_runs.experiments(str(tmp_path / 'nothing'))
