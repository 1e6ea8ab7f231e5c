"""Tests of runs whose data are streamed: chosen, resumed, refused."""

import dataclasses
import json
import threading
import types

import numpy as np
import pytest

from srdice_tf import api
from srdice_tf import errors
from srdice_tf.estimators import hyperparameters
from srdice_tf.experiments import fitting
from srdice_tf.experiments import runs
from srdice_tf.experiments import stream_arguments
from srdice_tf.experiments import streaming
from srdice_tf.experiments import tasks
from tests.data import warm_data_server

_TASK = tasks.TaskConfig(
    'FiveStateChain', 'random', 'main', 200, gamma=0.9, truth='none'
)
_VALUES = hyperparameters.Hyperparameters(
    updates=2000,
    hidden_units=8,
    batch_size=8,
    start_pool=16,
    bootstrap_draws=4,
    linear_ridge=1e-6,
)


@pytest.fixture(autouse=True)
def _warm(monkeypatch):
  warm_data_server.use(monkeypatch)


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


@pytest.fixture(scope='module')
def path(tmp_path_factory):
  path = tmp_path_factory.mktemp('run')
  runs.run(_config(path), str(path / 'kept'))
  return path


def _settings(run_dir):
  return json.loads((run_dir / 'config.json').read_text())


def test_an_interrupted_run_goes_on(path, monkeypatch):
  config, seen = _config(path, algos=('deep_td',), stream=True), []
  note = fitting.Fit._note

  def stop_after_the_first(fit, report):
    seen.append(report.step)
    if report.step == 2000 and seen.count(2000) == 1:
      raise KeyboardInterrupt
    return note(fit, report)

  monkeypatch.setattr(fitting.Fit, '_note', stop_after_the_first)
  before = threading.active_count()
  with pytest.raises(KeyboardInterrupt):
    runs.run(config, str(path / 'resumed'))
  assert threading.active_count() <= before  # None reads on.
  # The same command without the flag: a run goes on as it has begun.
  found = runs.run(
      dataclasses.replace(config, stream=False), str(path / 'resumed')
  )
  assert seen == [1000, 2000, 2000]
  assert found.methods['deep_td'].curve.steps == (1000, 2000)
  assert _settings(path / 'resumed')['stream']


def test_large_data_are_streamed_by_themselves(path, monkeypatch, capsys):
  monkeypatch.setattr(tasks.Task, 'data_bytes', 2**60)
  found = runs.run(_config(path), str(path / 'chosen'))
  said = capsys.readouterr().err.splitlines()
  assert len([line for line in said if line.startswith('streaming')]) == 1
  assert _settings(path / 'chosen')['stream']
  monkeypatch.undo()  # The server, too: this run needs none.
  kept = runs.run(_config(path), str(path / 'kept'))  # Reads the result.
  for name, method in kept.methods.items():
    assert found.methods[name].value == pytest.approx(method.value, rel=1e-9)
  ratios = [
      np.load(path / run / 'ratios.npz')['linear_srdice']
      for run in ('kept', 'chosen')
  ]
  np.testing.assert_allclose(*ratios, rtol=1e-7, atol=1e-12)


def test_a_call_streams_large_data_by_itself(path, monkeypatch, capsys):
  name, values = str(path / 'data'), {'linear_ridge': 1e-6}
  evaluate = lambda: api.evaluate(
      'random', name, ['linear_srdice'], 0.9, hyperparameters=values,
      accept='start_states',
      progress=False,
  )
  kept = evaluate()
  # 200 rows of a state, an action, a reward and the ends take 3 to 30 kB.
  for available, is_streamed in ((60_000, False), (6_000, True)):
    free = types.SimpleNamespace(available_bytes=lambda size=available: size)
    monkeypatch.setattr(streaming, 'limits', free)
    assert stream_arguments.is_needed(name) == is_streamed
    assert not stream_arguments.is_needed({'rewards': np.zeros(10**6)})
    for missing in ('not_there.npz', 9_999 * 'x'):
      assert not stream_arguments.is_needed(missing)
  capsys.readouterr()
  found = evaluate()
  assert capsys.readouterr().err.count('streaming') == 1
  (one,), (other,) = kept.methods.values(), found.methods.values()
  assert one.value == pytest.approx(other.value, rel=1e-6)


def test_a_run_in_memory_is_not_that_of_a_stream(path):
  with pytest.raises(errors.UserError, match='stream=False, asked for is True'):
    runs.run(_config(path, stream=True), str(path / 'kept'))


def test_held_out_episodes_of_a_stream(tmp_path):
  task = tasks.TaskConfig(
      'GridWalk', 'random', 'main', 300, gamma=0.9, truth='none', num_envs=4
  )
  found = runs.run(
      _config(tmp_path, task=task, stream=True, holdout_fraction=0.5),
      str(tmp_path / 'run'),
  )
  assert found.methods['linear_srdice'].flow_scored_on == 'held-out'
  assert len(np.load(tmp_path / 'run' / 'ratios.npz')['linear_srdice']) == 300
