"""Tests of whole experiments, at the scale that is made for it."""

import dataclasses
import functools
import json
import os
import shutil

import pandas as pd
import pytest

from srdice_tf import config_file
from srdice_tf.experiments import campaign
from srdice_tf.experiments import chain
from srdice_tf.experiments import chain_methods
from srdice_tf.experiments import finished_runs
from srdice_tf.experiments import jobs
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import planning
from srdice_tf.experiments import result_file
from srdice_tf.experiments import scales
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truths
from srdice_tf.logging import progress
from srdice_tf.reports import experiment_findings
from srdice_tf.reports import report_parts


def _run_here(entries, on_outcome, on_wait, num_workers, log_dir):
  """The smallest executor: in this process, in order."""
  del num_workers, log_dir
  for entry in entries:
    on_wait([entry])
    on_outcome(entry, *jobs.attempt(entry, {}))


@pytest.fixture(scope='module', name='roots')
def _roots(tmp_path_factory):
  """Directories of runs and data that the experiments share."""
  path = tmp_path_factory.mktemp('smoke')
  return str(path / 'runs'), str(path / 'data')


@pytest.fixture(scope='module', autouse=True)
def _tasks_made_once():
  """Lets the runs of this process share tasks: games take time to load."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(tasks, 'Task', functools.cache(tasks.Task))
    yield


@pytest.fixture(autouse=True)
def _little_data(monkeypatch):
  """Lets true values end where a small gamma does, and data sets early."""
  smoke = scales.scale('smoke')
  vectors = dataclasses.replace(
      smoke.vectors,
      task={**smoke.vectors.task, 'gamma': 0.5, 'num_envs': 5},
      num_transitions=500,
  )
  frames = dataclasses.replace(
      smoke.frames,
      task={**smoke.frames.task, 'gamma': 0.5},
      num_transitions=100,
  )
  monkeypatch.setitem(
      scales.SCALES,
      'smoke',
      dataclasses.replace(smoke, vectors=vectors, frames=frames),
  )


def _run(name, roots, execute=_run_here, kept='', match=''):
  root, data_root = roots
  plan = planning.plan(name, 'smoke', root, data_root)
  with progress.off():
    found = campaign.run(
        plan, 'a command', execute=execute, match=match, kept=kept
    )
  return plan, found


# With all methods and points; others have the same, and run fewer of them.
_WHOLE = 'hard', 'representations', 'beyond'
_FEWER = {'': ('deep_td', 'linear_srdice'), 'random_rewards': ('srdice',)}
_PARTS = {'coverage': 3}
# Of kinds that the others do not have.
_PICTURES = *_WHOLE, 'chain', 'random_rewards'


def _smaller(name, monkeypatch):
  """Leaves one point and fewer methods, which share their graphs' making."""
  if name not in _PICTURES:
    # The page shows what they show; only the files beside it are left out.
    monkeypatch.setattr(
        report_parts.ReportFigure,
        'write',
        lambda figure, path: figure.table and figure.table.write(path),
    )
  if name in _WHOLE:
    return
  smoke = dataclasses.replace(
      scales.scale('smoke'), max_points=1, max_parts=_PARTS.get(name, 1)
  )
  monkeypatch.setitem(scales.SCALES, 'smoke', smoke)
  # Each kind of features and each method once.
  pairs = zip(chain_methods.FEATURES, chain_methods.METHODS, strict=True)
  monkeypatch.setattr(chain, '_CELLS', tuple(pairs))
  experiment = known_experiments.experiment(name)
  fewer = _FEWER.get(name, _FEWER[''])
  algos = tuple(a for a in experiment.algos if a in fewer)
  if algos and (name in _FEWER or not experiment.points[0].of):
    smaller = dataclasses.replace(
        experiment,
        algos=algos,
        points=tuple(map(_with_few_roll_outs, experiment.points)),
    )
    monkeypatch.setitem(known_experiments.EXPERIMENTS, name, smaller)


def _with_few_roll_outs(point):
  task = {**point.task}
  task.pop('truth_episodes', 0)
  return dataclasses.replace(point, task=task)


@pytest.mark.parametrize('name', known_experiments.EXPERIMENTS)
def test_smoke(name, roots, monkeypatch):
  _smaller(name, monkeypatch)
  plan, found = _run(name, roots)
  assert not found.failures
  with open(os.path.join(plan.directory, planning.FILE_NAME)) as file:
    described = json.load(file)
  for run in described['runs']:
    assert os.path.isdir(os.path.join(plan.directory, run))
    assert os.path.exists(os.path.join(plan.directory, run, 'origin.json'))
  text = experiment_findings.text(
      found.by_label, found.studies, plan.experiment.num_parts > 1
  )
  assert max(map(len, text.splitlines())) <= 100
  with open(campaign.write_report(plan)) as file:
    assert 'class="panel"' in file.read()  # Its figure.
  if not found.evaluations:
    assert len(found.studies) == len(described['runs'])
    labels = {entry.label for entry in plan.entries}
    assert {label for label, _ in found.studies} <= labels
    return
  frame = pd.read_csv(found.table)
  methods = {m for e in found.evaluations for m in e.methods}
  assert set(frame['method']) == methods
  # All of it is there: nothing is run again.
  again = _run(name, roots, execute=None)[1]
  assert again.evaluations == found.evaluations


def test_a_damaged_result_is_one_line_and_the_rest_is_kept(
    tmp_path, roots, monkeypatch
):
  _smaller('coverage', monkeypatch)
  plan, found = _run('coverage', roots)
  assert len(found.evaluations) == 3
  path = os.path.join(plan.entries[1].directory, result_file.FILE_NAME)
  shutil.copy(path, f'{path}.whole')
  with open(path, 'r+') as file:
    file.truncate(100)
  found = _run('coverage', roots, execute=None)[1]
  assert list(found.failures) == [plan.entries[1].directory]
  (text,) = found.failures.values()
  assert 'cannot be read as JSON' in text and 'remove it' in text
  assert len(found.evaluations) == 2
  shutil.move(f'{path}.whole', path)
  found = _run('coverage', roots, execute=None)[1]
  assert not found.failures and len(found.evaluations) == 3
  # A part leaves the others in the table.
  part = _run('coverage', roots, execute=None, match='part1$')[1]
  assert part.evaluations == found.evaluations
  assert len(pd.read_csv(part.table)) == 3
  # What is kept is done on a machine that has nothing else.
  kept = str(tmp_path / 'kept')
  assert campaign.keep(plan, kept) == 3
  table = pd.read_csv(os.path.join(kept, 'smoke', 'coverage.csv'))
  names = [os.path.relpath(e.directory, plan.directory) for e in plan.entries]
  assert list(table['run']) == names
  other = str(tmp_path / 'other'), str(tmp_path / 'no_data')
  again = _run('coverage', other, execute=None, kept=kept)[1]
  assert again.evaluations == found.evaluations and not again.failures
  assert not os.path.exists(other[1])
  # And is written out for a report.
  page = str(tmp_path / 'page')
  campaign.write_out(page, kept)
  (group,) = finished_runs.read(page)
  assert group.name == 'coverage' and not group.missing
  results = [record.evaluation for record in group.records]
  assert sorted(e['linear_srdice'].value for e in results) == sorted(
      e['linear_srdice'].value for e in found.evaluations
  )
  # The roll-outs that other runs need are kept, too.
  os.remove(os.path.join(kept, 'smoke', 'coverage.jsonl'))
  third = str(tmp_path / 'third'), str(tmp_path / 'new_data')
  _run('coverage', third, execute=lambda *_: None, kept=kept)
  truth = plan.entries[0].config.truth_dir
  places = truth, os.path.join(third[1], os.path.relpath(truth, roots[1]))
  whole, restored = [
      config_file.read_json(os.path.join(p, truths.FILE_NAME), '')
      for p in places
  ]
  assert whole and restored == whole
