"""Tests that what the README marks as runnable runs, in small."""

import os
import re

import gymnasium
import numpy as np
import pytest
from tf_agents.policies import policy_saver

from srdice_tf import api
from srdice_tf.estimators import presets
from tests import documents
from tests import source_tree
from tests import warm_processes

_RUNNABLE = [
    block for block in documents.blocks(documents.README)
    if block.mark == 'runnable'
]
_SHORT = {
    'encoder_steps': 2, 'successor_steps': 2, 'updates': 2, 'hidden_units': 8,
    'num_features': 8, 'batch_size': 8, 'ratio_batch_size': 8, 'start_pool': 8,
}
# What makes each program short; all else is as the README has it.
_SMALL = {
    'binaries/run_ope.py': _SHORT | {'bootstrap_draws': 20},
    'binaries/check_data.py': {},
    'binaries/collect_dataset.py': {'num_transitions': 200},
    'binaries/evaluate_policy.py': {'num_episodes': 1},
}
_SIMULATED = {'num_transitions': 200, 'truth_episodes': 2}


def _log(path):
  """Writes two episodes of random actions, as D4RL has them."""
  env, size = gymnasium.make('Pendulum-v1'), 100
  rows = []
  for seed in range(2):
    state, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    for t in range(size):
      action = env.action_space.sample()
      after, reward, *_ = env.step(action)
      rows.append((state, action, reward, after, False, t == size - 1))
      state = after
  names = 'observations actions rewards next_observations terminals timeouts'
  np.savez(path, **{n: np.stack(r) for n, r in zip(names.split(), zip(*rows))})


@pytest.fixture(name='run', scope='module')
def _run(tmp_path_factory):
  """Returns a function that runs a command where a user has data and policy."""
  directory = tmp_path_factory.mktemp('clone')
  (directory / 'binaries').symlink_to(source_tree.ROOT / 'binaries')
  _log(directory / 'logs.npz')
  policy = api.load_policy('pretrained', 'Pendulum-v1')
  policy_saver.PolicySaver(policy).save(str(directory / 'my_policy'))
  variables = {**os.environ, 'PYTHONPATH': str(source_tree.ROOT)}

  def run(program, *flags):
    small = _SMALL[program]
    if program.endswith('run_ope.py') and flags[0].startswith('--env='):
      small = small | _SIMULATED
    return warm_processes.run(
        program, *flags, *warm_processes.flags(small), cwd=directory,
        env=variables,
    )

  return run


def _commands():
  return [
      words[1:]
      for block in _RUNNABLE if block.kind == 'code'
      for words in documents.commands(block)
  ]


def test_the_first_code_runs_as_it_stands(monkeypatch, capsys):
  """Word for word, but for the length of the schedule."""
  (block,) = (block for block in _RUNNABLE if block.kind == 'python')
  lines = [line for line in block.text.splitlines() if line]
  assert len(lines) <= 12
  assert max(map(len, lines)) <= 90
  monkeypatch.setitem(presets.PRESETS, 'quick', _SHORT)
  exec(compile(block.text, 'README.md', 'exec'), {})
  (printed,) = capsys.readouterr().out.splitlines()
  assert re.match(r"-?\d\S* \(.*, .*\) Verdict\(grade='\w+', reasons", printed)


def test_newcomers_see_code_first():
  lines = documents.read(documents.README).splitlines()
  assert lines.index('```python') < 25


def _labels(text):
  """Returns what the lines of an output begin with."""
  found = re.findall(r'^(?:[a-zA-Z?]+ )+(?= |$)|^Do .*\?', text, re.M)
  return [label.strip() for label in found]


@pytest.mark.parametrize('words', _commands(), ids=lambda w: w[0])
def test_each_command_runs(words, run):
  process = run(*words)
  assert process.returncode == 0, process.stderr
  assert process.stdout.strip()
  if 'Hopper' in words[1]:
    (shown,) = (block for block in documents.blocks(documents.README)
                if block.mark.startswith('output: '))
    labels = _labels(shown.text)
    assert {'method', 'density ratios', 'truth', 'behaviour'} <= {*labels}
    assert {*labels} <= {*_labels(process.stdout)}


def test_there_are_commands():
  assert len(_commands()) >= 5
