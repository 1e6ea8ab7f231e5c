"""Tables of runs made by hand, and what they say of the paper's claims."""

import pandas as pd

from srdice_tf.reports import aggregates
from srdice_tf.reports import claim_rules
from srdice_tf.reports import judged_claims

TASKS = 'ABCDE'
SEEDS = range(4)
NOISE = (0.1, -0.1, 0.05, -0.05)
GOOD = {'srdice': -6.0, 'deep_sr': -6.1, 'deep_td': -7.0, 'dual_dice': -1.0,
        'gradient_dice': -3.5}


def runs(experiment, errors, tasks=TASKS, seeds=SEEDS, **columns):
  """Returns a table in which each method has one error on all tasks."""
  return pd.DataFrame([
      {
          'experiment': experiment, 'setting': 'hard', 'env': task,
          'task': task, 'run': str(seed), 'method': method, 'label': method,
          aggregates.ERROR: error + NOISE[(seed + i) % 4],
          'behaviour_log_error': -3.0, 'seconds': 10.0, 'num_transitions': 50,
          **columns,
      }
      for task in tasks
      for i, (method, error) in enumerate(errors.items())
      for seed in seeds
  ])


def verdict(name, *runs, **tables):
  """Returns what runs of one scale say of a claim."""
  evidence = claim_rules.Evidence(pd.concat(runs or [pd.DataFrame()]), tables)
  return judged(name, desk=evidence).verdict


def judged(name, **evidence):
  """Returns a claim as judged by evidence of several scales."""
  found = {each.claim.name: each for each in judged_claims.judge(evidence)}
  return found[name]
