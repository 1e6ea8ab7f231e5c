"""Tests of many runs, on the chain: seeds, tasks, parts of one data set."""

import dataclasses
import shutil

import numpy as np
import pandas as pd
import pytest

from srdice_tf import collection
from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.evaluation import coverage
from srdice_tf.experiments import grids
from srdice_tf.experiments import runs
from srdice_tf.experiments import sweep
from srdice_tf.experiments import tasks

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', num_transitions=1000, truth_episodes=5,
    gamma=0.9, num_envs=10,
)
_VALUES = hyperparameters.Hyperparameters(linear_ridge=1e-6, bootstrap_draws=20)


def _config(path, **fields):
  config = runs.RunConfig(
      _TASK, ('linear_srdice',), _VALUES, 0, data_root=str(path / 'data')
  )
  return dataclasses.replace(config, **fields)


def _sweep(path, config, grid):
  entries = sweep.plan(grids.configs(config, grid), str(path / 'runs'))
  return sweep.run(entries, str(path / 'runs' / sweep.TABLE))


def _no_run(*arguments):
  raise AssertionError('This run is done.')


def test_a_grid_is_written_out_seed_by_seed(tmp_path):
  grid = grids.Grid(('A', 'B'), num_seeds=2, num_parts=2)
  found = grids.configs(_config(tmp_path, seed=3), grid)
  assert [(c.seed, c.task.env_id, c.part) for c in found] == [
      (seed, env_id, part)
      for seed in (3, 4)
      for env_id in ('A', 'B')
      for part in (0, 1)
  ]
  assert {(c.task.num_transitions, c.num_parts) for c in found} == {(2000, 2)}


@pytest.mark.parametrize('field', ['dataset_dir', 'reverb_address'])
def test_one_data_set_is_not_for_several_seeds(tmp_path, field):
  config = _config(tmp_path, **{field: 'somewhere:1'})
  with pytest.raises(errors.UserError, match=f'num_seeds=3: each run.*{field}'):
    grids.configs(config, grids.Grid(num_seeds=3))
  (alone,) = grids.configs(config, grids.Grid())
  assert alone == config


def test_one_true_value_is_not_of_several_environments(tmp_path):
  task = dataclasses.replace(_TASK, truth='0.3', truth_episodes=0)
  grid = grids.Grid(('FiveStateChain', 'GridWalk'))
  configs = grids.configs(_config(tmp_path, task=task), grid)
  with pytest.raises(errors.UserError, match='truth=0.3: expected one env'):
    sweep.plan(configs, 'runs')
  assert len(sweep.plan(configs[:1], 'runs')) == 1


def test_intervals_need_draws(tmp_path):
  few = _VALUES.replace(bootstrap_draws=9)
  with pytest.raises(errors.UserError, match='bootstrap_draws=9: too few'):
    grids.configs(
        _config(tmp_path, hyperparameters=few), grids.Grid(num_parts=3)
    )


def test_runs_of_a_sweep_have_names_of_their_own(tmp_path):
  config = _config(tmp_path, algos=('linear_srdice', 'deep_td'))
  grid = grids.Grid(('FiveStateChain', 'GridWalk'), num_seeds=2)
  entries = sweep.plan(grids.configs(config, grid), 'runs')
  assert [entry.directory for entry in entries] == [
      f'runs/{env_id}_main_linear_srdice_deep_td/seed{seed}'
      for seed in (0, 1)
      for env_id in ('FiveStateChain', 'GridWalk')
  ]
  parts = grids.configs(config, grids.Grid(num_parts=2))
  first, _ = sweep.plan(parts, 'runs')
  assert first.directory.endswith('/seed0_part0')


def test_two_runs_never_share_a_directory(tmp_path):
  config = _config(tmp_path)
  other = dataclasses.replace(_TASK, gamma=0.5)
  with pytest.raises(errors.UserError, match='seed0: 2 runs of the sweep'):
    sweep.plan([config, dataclasses.replace(config, task=other)], 'runs')


def test_what_is_done_is_read_and_the_rest_is_run(tmp_path, monkeypatch):
  config = _config(tmp_path)
  (first,) = _sweep(tmp_path, config, grids.Grid())
  with monkeypatch.context() as patch:
    patch.setattr(runs, 'run', _no_run)
    assert _sweep(tmp_path, config, grids.Grid()) == [first]
  two = _sweep(tmp_path, config, grids.Grid(num_seeds=2))
  assert two[0] == first and two[1].seed == 1
  assert two[0].truth == two[1].truth  # One truth for all seeds.
  path = tmp_path / 'runs' / sweep.TABLE
  frame = pd.read_csv(path, float_precision='round_trip')
  assert list(frame['seed']) == [0, 1]
  assert list(frame['value']) == [e['linear_srdice'].value for e in two]


def test_named_data_are_compared_again(tmp_path, monkeypatch):
  """Also in the directory where data without a name are kept."""
  path = tmp_path / 'data' / 'mine'
  config = _config(tmp_path, dataset_dir=str(path))
  (first,) = _sweep(tmp_path, config, grids.Grid())
  assert _sweep(tmp_path, config, grids.Grid())[0].methods == first.methods
  shutil.rmtree(path)
  with monkeypatch.context() as patch:  # Of another program's version.
    patch.setattr(
        collection.CollectConfig, 'stream_seed', property(lambda _: 7)
    )
    tasks.Task(_TASK).dataset(str(path), seed=0)
  with pytest.raises(errors.UserError, match='dataset_checksum'):
    _sweep(tmp_path, config, grids.Grid())


def test_another_policy_of_the_same_name_is_another_run(tmp_path):
  path = tmp_path / 'policy.npy'
  config = _config(
      tmp_path, task=dataclasses.replace(_TASK, policy=str(path))
  )
  np.save(path, np.full((5, 2), 0.5))
  _sweep(tmp_path, config, grids.Grid())
  np.save(path, np.tile([0.25, 0.75], (5, 1)))
  with pytest.raises(errors.UserError, match='with task.policy_checksum='):
    _sweep(tmp_path, config, grids.Grid())


def test_coverage_on_parts_of_one_data_set(tmp_path, monkeypatch):
  config = _config(tmp_path, task=dataclasses.replace(_TASK, gamma=0.99))
  grid = grids.Grid(num_parts=3)
  found = _sweep(tmp_path, config, grid)
  values = [evaluation['linear_srdice'].value for evaluation in found]
  # The parts differ, and the values are those of the chain's uniform walk.
  assert len(set(values)) == 3
  assert np.all((0.05 < np.array(values)) & (np.array(values) < 0.4))
  assert sum(e.num_transitions for e in found) == 3000
  frame = pd.read_csv(tmp_path / 'runs' / sweep.TABLE)
  assert list(frame['part']) == [0, 1, 2]  # What tells the rows apart.
  whole = coverage.of_method(found, 'linear_srdice')
  # Five roll-outs would not know it: the chain is finite, its value exact.
  assert whole.truth_error == 0.0
  assert whole.truth == pytest.approx(0.18662, abs=1e-5)
  monkeypatch.setattr(runs, 'run', _no_run)
  assert _sweep(tmp_path, config, grid) == found


def test_parts_need_two_episodes_each(tmp_path):
  few = dataclasses.replace(_TASK, num_transitions=200, num_envs=1)
  with pytest.raises(errors.UserError, match='num_parts=3: there are'):
    _sweep(tmp_path, _config(tmp_path, task=few), grids.Grid(num_parts=3))
  assert not (tmp_path / 'runs').exists()


def test_data_that_cannot_fit_are_refused(tmp_path):
  many = dataclasses.replace(_TASK, num_transitions=10**9)
  with pytest.raises(errors.UserError, match='num_transitions=.* at most'):
    _sweep(tmp_path, _config(tmp_path, task=many), grids.Grid(num_parts=2))
  assert not (tmp_path / 'runs').exists()


def test_a_refused_setting_does_not_claim_the_directory(tmp_path):
  wrong = _config(
      tmp_path, hyperparameters=_VALUES.replace(linear_features='x')
  )
  with pytest.raises(errors.UserError, match='linear_features=x'):
    _sweep(tmp_path, wrong, grids.Grid(num_parts=2))
  assert not (tmp_path / 'runs').exists()


def test_a_run_on_data_elsewhere_is_compared_not_read(tmp_path):
  """The same description, but data that were made by another seed."""
  elsewhere = str(tmp_path / 'elsewhere')
  config = _config(tmp_path, dataset_dir=elsewhere)
  _sweep(tmp_path, config, grids.Grid())
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(collection.CollectConfig, 'stream_seed', 99)
    tasks.Task(_TASK).dataset(runs.resolve(_config(tmp_path))[1].dataset_dir, 0)
  with pytest.raises(errors.UserError, match='with dataset_checksum='):
    _sweep(tmp_path, _config(tmp_path), grids.Grid())
