"""Tests that a run directory knows its run, and its data."""

import dataclasses
import json
import shutil

import pytest

from srdice_tf import collection
from srdice_tf import errors
from srdice_tf import limits
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import runs
from srdice_tf.experiments import streaming
from srdice_tf.experiments import tasks

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', 200, gamma=0.9, truth_episodes=2
)
_VALUES = hyperparameters.Hyperparameters(
    linear_ridge=1e-6, linear_num_features=16, bootstrap_draws=0
)


def _config(path, **fields):
  config = runs.RunConfig(
      _TASK,
      ('linear_srdice',),
      _VALUES,
      0,
      str(path / 'data'),
      data_root=str(path / 'root'),
  )
  return dataclasses.replace(config, **fields)


@pytest.fixture(name='path', scope='module')
def _path(tmp_path_factory):
  path = tmp_path_factory.mktemp('run')
  runs.run(_config(path), str(path / 'run'))
  return path


def test_numbers_and_data_stand_in_the_config(path):
  found = json.loads((path / 'run' / 'config.json').read_text())
  assert len(found['dataset_checksum']) == 64
  fields = found['task']
  assert (fields['num_transitions'], fields['num_envs']) == (200, 1)
  assert fields['behaviour_policy'] == 'random'
  assert len(fields['behaviour_checksum']) == 64
  assert found['hyperparameters']['linear_srdice']['linear_ridge'] == 1e-6


@pytest.mark.parametrize(
    'fields, name',
    [
        ({'task': dataclasses.replace(_TASK, gamma=0.5)}, 'task.gamma=0.9'),
        ({'seed': 1, 'dataset_dir': ''}, 'seed=0'),
        ({'holdout_fraction': 0.5}, 'holdout_fraction=0.0'),
    ],
)
def test_another_run_is_found_before_any_work(path, fields, name, monkeypatch):
  monkeypatch.setattr(tasks.Task, 'dataset', None)
  with pytest.raises(errors.UserError, match=f'{name}, asked for is'):
    runs.run(_config(path, **fields), str(path / 'run'))


def test_metrics_that_were_cut_are_one_line(path, tmp_path):
  shutil.copytree(path / 'run', tmp_path / 'run')
  metrics = tmp_path / 'run' / 'metrics.csv'
  (tmp_path / 'run' / 'result.json').unlink()
  lines = metrics.read_text().splitlines(keepends=True)
  for kept in ([], lines[:1], lines[:-1][:2]):
    metrics.write_text(''.join(kept))
    with pytest.raises(errors.UserError) as error:
      runs.run(_config(path), str(tmp_path / 'run'))
    message = str(error.value)
    assert message.startswith(f'{metrics}: has 0 estimates of linear_srdice')
    assert message.endswith(f"remove {tmp_path / 'run'} to begin again.")


def test_metrics_from_before_the_first_checkpoint_are_made_again(
    path, tmp_path
):
  shutil.copytree(path / 'run', tmp_path / 'run')
  shutil.rmtree(tmp_path / 'run' / 'checkpoint')
  for _ in range(2):  # Killed before the first checkpoint, and once more.
    (tmp_path / 'run' / 'result.json').unlink()
    runs.run(_config(path), str(tmp_path / 'run'))
    found = (tmp_path / 'run' / 'metrics.csv').read_text()
    assert found == (path / 'run' / 'metrics.csv').read_text()


def test_settings_that_were_emptied_are_one_line(path, tmp_path):
  shutil.copytree(path / 'run', tmp_path / 'run')
  file = tmp_path / 'run' / 'config.json'
  for content in ('{}', '{"task": 3}'):
    file.write_text(content)
    with pytest.raises(errors.UserError) as error:
      runs.run(_config(path), str(tmp_path / 'run'))
    message = str(error.value)
    assert message.startswith(f'{file}: has no settings under task;')
    assert message.endswith('or choose another directory.')


def test_sizes_that_cannot_fit_leave_nothing_behind(
    path, tmp_path, monkeypatch
):
  many = dataclasses.replace(_TASK, num_transitions=2 * 10**9)
  config = _config(tmp_path, task=many)
  with pytest.raises(errors.UserError, match='num_transitions=.* at most'):
    runs.run(config, str(tmp_path / 'run'))
  small = _VALUES.replace(
      hidden_units=8, batch_size=8, ratio_batch_size=8, num_features=16,
      start_pool=8,
  )
  config = _config(path, algos=('srdice',), hyperparameters=small)
  # As if the data fitted, and only phi of them did not.
  monkeypatch.setattr(streaming, 'decided', lambda config, *_: config)
  monkeypatch.setattr(limits, 'available_bytes', lambda: 4 * 200 * 15)
  with pytest.raises(errors.UserError, match='num_features=16:.*most 15.'):
    runs.run(config, str(tmp_path / 'run'))
  assert not list(tmp_path.iterdir())


def test_data_of_the_same_place_are_told_apart(path, monkeypatch):
  """The description is the same; the environment, say, was changed."""
  shutil.rmtree(path / 'data')
  runs.run(_config(path), str(path / 'run'))  # The same data, collected again.
  before = (path / 'run' / 'result.json').read_bytes()
  shutil.rmtree(path / 'data')
  with monkeypatch.context() as patch:
    patch.setattr(collection.CollectConfig, 'stream_seed', 99)
    tasks.Task(_TASK).dataset(str(path / 'data'), 0)
  with pytest.raises(errors.UserError, match='with dataset_checksum='):
    runs.run(_config(path), str(path / 'run'))
  assert (path / 'run' / 'result.json').read_bytes() == before


def test_a_run_without_its_settings_is_refused(path):
  (path / 'run' / 'config.json').unlink()
  other = dataclasses.replace(_TASK, gamma=0.5)
  with pytest.raises(errors.UserError, match='checkpoint.*no config.json'):
    runs.run(_config(path, task=other), str(path / 'run'))
  assert not (path / 'run' / 'config.json').exists()


@pytest.mark.parametrize(
    'fields',
    [
        {'holdout_fraction': 0.1},  # Of one episode.
        {'hyperparameters': _VALUES.replace(select='flow')},
        {'task': dataclasses.replace(_TASK, setting='hard')},
    ],
    ids=['holdout', 'estimator', 'setting'],
)
def test_a_refused_setting_claims_nothing(tmp_path, fields):
  with pytest.raises(errors.UserError):
    runs.run(_config(tmp_path, **fields), str(tmp_path / 'run'))
  assert not (tmp_path / 'run').exists()


def test_a_path_that_cannot_be_is_found_before_any_work(tmp_path, monkeypatch):
  monkeypatch.setattr(tasks.Task, 'dataset', None)
  (tmp_path / 'file').touch()
  with pytest.raises(errors.UserError, match='Not a directory'):
    runs.run(_config(tmp_path), str(tmp_path / 'file' / 'run'))
