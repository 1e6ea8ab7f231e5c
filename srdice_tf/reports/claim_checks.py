"""What is compared for the paper's claims: functions of the evidence.

Each function here returns one that takes the evidence and gives the finding.
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import itertools

import pandas as pd

from srdice_tf.reports import claim_rules

MIS = 'dual_dice', 'gradient_dice'
TRAINED = 'srdice', 'deep_sr', 'deep_td', *MIS
_LAST = 10  # Evaluations on the chain that count as its end.
_NOTHING = claim_rules.Finding(claim_rules.OPEN)

Decide = Callable[[claim_rules.Evidence], claim_rules.Finding]


def lower_error(
    experiments: Sequence[str],
    lower: Sequence[str],
    higher: Sequence[str],
    summary: Callable = claim_rules.on_every_task,
    but: Sequence[str] = (),
    min_tasks: int = 1,
) -> Decide:
  """Compares each of `lower` with each of `higher`, on all tasks but some."""

  def decide(evidence):
    found = []
    for experiment in experiments:
      errors = claim_rules.errors_of(evidence, experiment)
      for first, second in itertools.product(lower, higher):
        if first != second:
          found += claim_rules.compare(errors, first, second)
    found = [each for each in found if not each.task.startswith(tuple(but))]
    return summary(found, min_tasks)

  return decide


def all_similar(comparisons, min_tasks: int) -> claim_rules.Finding:
  return claim_rules.on_every_task(claim_rules.similar(comparisons), min_tasks)


def _sizes(evidence) -> tuple[pd.DataFrame, list[int]]:
  """Returns the runs over the size of the data, and the sizes, rising."""
  runs = evidence.runs
  rows = runs[runs['experiment'] == 'ablation_size'] if len(runs) else runs
  return rows, sorted(set(rows['num_transitions'])) if len(rows) else []


def smallest_is_enough(evidence) -> claim_rules.Finding:
  """Compares SR-DICE on the smallest data set with each larger one."""
  rows, sizes = _sizes(evidence)
  if len(sizes) < 2:
    return _NOTHING
  name = lambda size: f'srdice at {size:,}'
  # One task: the same seeds of different sizes are compared.
  rows = rows[rows['method'] == 'srdice']
  rows = rows.assign(task=rows['env'])
  errors = claim_rules.errors_of(
      dataclasses.replace(evidence, runs=rows),
      'ablation_size',
      lambda row: name(row['num_transitions']),
  )
  found = []
  for larger in sizes[1:]:
    found += claim_rules.compare(errors, name(larger), name(sizes[0]))
  return claim_rules.on_every_task(claim_rules.no_gain(found))


def sr_on_smallest(evidence) -> claim_rules.Finding:
  """Compares the SR methods with Deep TD on the smallest data set."""
  rows, sizes = _sizes(evidence)
  if len(sizes) < 2:
    return _NOTHING
  rows = rows[rows['num_transitions'] == sizes[0]]
  decide = lower_error(('ablation_size',), ('srdice', 'deep_sr'), ('deep_td',))
  return decide(dataclasses.replace(evidence, runs=rows))


def same_order_over_gamma(evidence) -> claim_rules.Finding:
  errors = claim_rules.errors_of(evidence, 'ablation_gamma')
  return claim_rules.same_order(errors, TRAINED)


def _variants(evidence, experiment: str, fields: Sequence[str]) -> pd.DataFrame:
  """Returns log errors with columns such as 'dual_dice psi True'."""
  columns = [f'method.{field}' for field in fields]
  if not {*columns} <= {*evidence.runs.columns}:
    return pd.DataFrame()
  name = lambda row: ' '.join([row['method'], *(str(row[c]) for c in columns)])
  return claim_rules.errors_of(evidence, experiment, name)


def over_representations(pairs: Sequence[tuple[str, str]]) -> Decide:
  """Compares methods over inputs, named as 'dual_dice psi True' (linear)."""

  def decide(evidence):
    fields = 'dice_inputs', 'dice_linear'
    errors = _variants(evidence, 'representations', fields)
    found = []
    for lower, higher in pairs:
      found += claim_rules.compare(errors, lower, higher)
    return claim_rules.on_every_task(found)

  return decide


def no_gain_of_layers(evidence) -> claim_rules.Finding:
  """Compares DualDICE and GradientDICE with one more hidden layer."""
  errors, found = _variants(evidence, 'big_networks', ('hidden_layers',)), []
  for method in MIS:
    columns = [c for c in errors.columns if c.startswith(f'{method} ')]
    if len(columns) == 2:
      small, big = sorted(columns)
      found += claim_rules.compare(errors, big, small)
  return claim_rules.on_every_task(claim_rules.no_gain(found))


def seconds_ratio(methods: Sequence[str], low: float, high: float) -> Decide:
  """Compares the mean seconds of methods with those of SR-DICE."""

  def decide(evidence):
    runs = evidence.runs
    rows = runs[runs['experiment'] == 'run_time'] if len(runs) else runs
    if not len(rows):
      return _NOTHING
    pairs = [(method, 'srdice') for method in methods]
    return claim_rules.ratio_of(rows, 'seconds', pairs, low, high)

  return decide


def on_rewards(rule: Callable[..., claim_rules.Finding], *args) -> Decide:
  """Asks a rule about the table of random rewards."""

  def decide(evidence):
    rewards = evidence.tables.get('random_rewards')
    return _NOTHING if rewards is None else rule(rewards, 'srdice', *args)

  return decide


def on_chain(
    features: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Decide:
  """Compares log MSEs of ratios at the end of training on the chain."""

  def decide(evidence):
    chain = evidence.tables.get('chain')
    if chain is None:
      return _NOTHING
    trials = [c for c in chain.columns if c.isdigit()]
    last = chain.groupby(['features', 'method'])[trials].apply(
        lambda rows: rows.tail(_LAST).mean()
    )
    errors = last.stack().unstack('method')  # [features and trial, method]
    errors = errors[errors.index.get_level_values(0).isin(features)]
    found = []
    for lower, higher in pairs:
      found += claim_rules.compare(errors, lower, higher)
    return claim_rules.on_every_task(found, len(features))

  return decide
