"""Tests for the coverage of intervals and for studies, on the chain."""

import dataclasses
import json

import numpy as np
import pytest

from srdice_tf import errors
from srdice_tf.estimators import config as config_lib
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import coverage
from srdice_tf.experiments import setup
from srdice_tf.experiments import study

_ESTIMATORS = config_lib.Config(linear_ridge=1e-6, bootstrap_draws=20)
_TASK = setup.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=1000, truth_episodes=5
)
_CONFIG = coverage.CoverageConfig(_TASK, 3, _ESTIMATORS)


def _truth(value):
  return truth_lib.PolicyValue(value, 0.1, 0, 0, 0, 1, 1, 0.9, 1)


def test_summary_by_hand():
  rows = [
      [0, 1.0, 0.0, 2.0, 0.5, 0.1],
      [1, 3.0, 2.5, 3.5, 0.2, 0.1],
      [2, 5.0, 1.0, 9.0, 1.1, 0.1],
  ]
  found = coverage.summary(rows, _truth(2.0))
  assert found.share == pytest.approx(2 / 3)
  assert found.median_width == 2.0
  assert found.bias == pytest.approx(1.0)
  assert found.spread == pytest.approx(2.0)
  assert found.mean_error == pytest.approx(0.6)
  assert found.centred_share == pytest.approx(2 / 3)


def test_a_data_set_without_an_interval_does_not_miss_the_truth():
  nan = float('nan')
  rows = [[0, 1.0, 0.0, 2.0, 0.5, 0.1], [1, 2.0, nan, nan, nan, 0.1]]
  found = coverage.summary(rows, _truth(1.0))
  assert (found.num_datasets, found.share, found.mean_error) == (1, 1.0, 0.5)


_HEADER = 'dataset,estimate,low,high,standard_error,flow_residual\n'


@pytest.mark.parametrize(
    'content, found',
    [
        ('', 'nothing'),
        ('\x00\x01', 'found'),
        ('dataset,estimate\n0,1\n', 'expected dataset,estimate,low'),
        (_HEADER + '0,1.0,0.5,1.5,0.25\n', 'line 2'),
        (_HEADER + '0,1.0,0.5,one,0.25,0.1\n', 'line 2'),
        (_HEADER + '0,1.0,0.5,1.5,0.25,0.1', 'cut short in line 2'),
        (_HEADER + '1,1.0,0.5,1.5,0.25,0.1\n', 'data sets 0 to 2'),
        (_HEADER + '0,1.0,0.5,1.5,0.25,0.1\n' * 2, 'data sets 0 to 2'),
    ],
    ids='empty garbage columns cells text cut numbers twice'.split(),
)
def test_a_damaged_file_is_one_line(tmp_path, content, found):
  path = tmp_path / coverage.FILE_NAME
  path.write_text(content)
  with pytest.raises(errors.UserError) as error:
    coverage.run(_CONFIG, str(tmp_path))
  message = str(error.value)
  assert message.startswith(f'{path}: ') and found in message
  assert message.endswith('remove it, and the same command measures anew.')
  assert '\n' not in message


def test_a_refused_setting_does_not_claim_the_directory(tmp_path):
  wrong = dataclasses.replace(_ESTIMATORS, linear_features='x')
  with pytest.raises(errors.UserError, match='--linear_features=x'):
    coverage.run(
        dataclasses.replace(_CONFIG, estimators=wrong), str(tmp_path)
    )
  assert not (tmp_path / 'config.json').exists()
  (tmp_path / coverage.FILE_NAME).write_text(_HEADER)
  with pytest.raises(errors.UserError, match='but no config.json'):
    coverage.run(_CONFIG, str(tmp_path))


def test_data_that_cannot_fit_are_refused(tmp_path):
  task = dataclasses.replace(_TASK, num_transitions=10**9)
  config = dataclasses.replace(_CONFIG, task=task)
  with pytest.raises(errors.UserError, match='--num_transitions=.* at most'):
    coverage.run(config, str(tmp_path / 'run'))
  assert not (tmp_path / 'run').exists()


def test_intervals_need_draws():
  few = dataclasses.replace(_ESTIMATORS, bootstrap_draws=9)
  with pytest.raises(errors.UserError, match='--bootstrap_draws=9: too few'):
    coverage.CoverageConfig(_TASK, 3, few)


def test_resumed_coverage_equals_uninterrupted(tmp_path):
  whole = coverage.run(_CONFIG, str(tmp_path))
  # Five roll-outs would not know it: the chain is finite, its value exact.
  assert whole.truth_error == 0.0
  assert whole.truth == pytest.approx(0.18662, abs=1e-5)
  path = tmp_path / coverage.FILE_NAME
  text = path.read_text()
  assert len(text.splitlines()) == 4
  path.write_text(''.join(text.splitlines(keepends=True)[:2]))
  again = coverage.run(_CONFIG, str(tmp_path))
  assert dataclasses.asdict(again) == pytest.approx(dataclasses.asdict(whole))
  # The data sets differ, and the values are those of the chain's uniform walk.
  values = np.loadtxt(path, delimiter=',', skiprows=1)[:, 1]
  assert len(set(values)) == 3 and np.all((0.05 < values) & (values < 0.4))
  many = dataclasses.replace(_CONFIG, num_datasets=4)
  with pytest.raises(errors.UserError, match='num_datasets=3, asked for is 4'):
    coverage.run(many, str(tmp_path))


def test_coverage_of_other_data_or_settings_unknown_is_refused(tmp_path):
  coverage.run(_CONFIG, str(tmp_path))
  path = tmp_path / 'config.json'
  content = json.loads(path.read_text())
  path.write_text(json.dumps({**content, 'dataset_checksum': 'other'}))
  with pytest.raises(errors.UserError, match='with dataset_checksum=other'):
    coverage.run(_CONFIG, str(tmp_path))
  path.unlink()
  with pytest.raises(errors.UserError, match='coverage.csv.*no config.json'):
    coverage.run(_CONFIG, str(tmp_path))


def test_too_few_episodes_claim_nothing(tmp_path):
  few = dataclasses.replace(_TASK, num_transitions=200)
  config = dataclasses.replace(_CONFIG, task=few)
  with pytest.raises(errors.UserError, match='--num_datasets=3: there are'):
    coverage.run(config, str(tmp_path))
  assert not (tmp_path / 'config.json').exists()


_STUDY = study.StudyConfig(
    ('FiveStateChain',),
    ('linear_srdice',),
    _TASK,
    (0,),
    dataclasses.replace(_ESTIMATORS, select='flow'),
)


def test_a_file_is_no_directory_of_a_study(tmp_path):
  path = tmp_path / 'file'
  path.write_text('')
  with pytest.raises(errors.UserError, match=f'--output_dir={path}.*Not a dir'):
    next(study.run(_STUDY, str(path)))


def test_a_study_is_run_once(tmp_path):
  (first,) = study.run(_STUDY, str(tmp_path))
  assert [result.method for result in first.results] == ['linear_srdice']
  (path,) = tmp_path.glob('runs/*/seed0/estimate.json')
  content = json.loads(path.read_text())
  content['methods'][0]['estimate'] = 123.0
  path.write_text(json.dumps(content))
  (second,) = study.run(_STUDY, str(tmp_path))
  assert second.results[0].estimate == 123.0  # Read, not computed.
  assert second.rank_correlation == first.rank_correlation


def test_another_policy_of_the_same_name_is_another_run(tmp_path):
  path = tmp_path / 'policy.npy'
  task = dataclasses.replace(_TASK, policy=str(path))
  config = dataclasses.replace(_STUDY, task=task)
  np.save(path, np.full((5, 2), 0.5))
  list(study.run(config, str(tmp_path)))
  np.save(path, np.tile([0.25, 0.75], (5, 1)))
  with pytest.raises(errors.UserError, match='with task.policy_checksum='):
    list(study.run(config, str(tmp_path)))
