"""Tests of whole experiments, at the scale that is made for it."""

import dataclasses
import json
import os
import shutil

import pandas as pd
import pytest

from srdice_tf.experiments import campaign
from srdice_tf.experiments import jobs
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import planning
from srdice_tf.experiments import result_file
from srdice_tf.experiments import scales
from srdice_tf.logging import progress
from srdice_tf.reports import experiment_findings


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


@pytest.fixture(autouse=True)
def _short_roll_outs(monkeypatch):
  """Lets true values end where a small gamma does."""
  smoke = scales.scale('smoke')
  budgets = {
      name: dataclasses.replace(budget, task={**budget.task, 'gamma': 0.5})
      for name, budget in (('vectors', smoke.vectors), ('frames', smoke.frames))
  }
  monkeypatch.setitem(
      scales.SCALES, 'smoke', dataclasses.replace(smoke, **budgets)
  )


def _run(name, roots, execute=_run_here, kept=''):
  root, data_root = roots
  plan = planning.plan(name, 'smoke', root, data_root)
  with progress.off():
    found = campaign.run(plan, 'a command', execute=execute, kept=kept)
  return plan, found


# With all methods and points; others have the same, and run fewer of them.
_WHOLE = 'hard', 'representations', 'beyond'
_FEWER = 'deep_td', 'linear_srdice'


def _smaller(name, monkeypatch):
  """Leaves one point and fewer methods, which share their graphs' making."""
  if name in _WHOLE:
    return
  smoke = dataclasses.replace(
      scales.scale('smoke'), max_points=1, max_parts=2
  )
  monkeypatch.setitem(scales.SCALES, 'smoke', smoke)
  experiment = known_experiments.experiment(name)
  algos = tuple(a for a in experiment.algos if a in _FEWER)
  if algos and not experiment.points[0].of:
    fewer = dataclasses.replace(experiment, algos=algos)
    monkeypatch.setitem(known_experiments.EXPERIMENTS, name, fewer)


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
    return
  frame = pd.read_csv(found.table)
  methods = {m for e in found.evaluations for m in e.methods}
  assert set(frame['method']) == methods
  # All of it is there: nothing is run again.
  again = _run(name, roots, execute=None)[1]
  assert again.evaluations == found.evaluations


def test_a_damaged_result_is_one_line_and_the_rest_is_kept(tmp_path):
  roots = str(tmp_path / 'runs'), str(tmp_path / 'data')
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
  # What is kept is done on a machine that has nothing else.
  kept = str(tmp_path / 'kept')
  assert campaign.keep(plan, kept) == 3
  other = str(tmp_path / 'other'), str(tmp_path / 'no_data')
  again = _run('coverage', other, execute=None, kept=kept)[1]
  assert again.evaluations == found.evaluations and not again.failures
