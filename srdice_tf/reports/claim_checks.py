"""What is compared for the paper's claims: functions of the evidence.

Each function here returns one that takes the evidence and gives the finding.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import itertools

import pandas as pd

from srdice_tf.reports import aggregates
from srdice_tf.reports import claim_rules

MIS = 'dual_dice', 'gradient_dice'
DEEP_RL = 'deep_td', 'deep_sr'
TRAINED = 'srdice', 'deep_sr', 'deep_td', *MIS
SMALLEST = 5_000  # Transitions, of the paper's ablation.
_QUANTITIES = {'log_swing': 'log deviation', 'log_settled': 'log updates'}
_UPDATES = 250_000  # The paper's.
_NOTHING = claim_rules.Finding()

Decide = Callable[[claim_rules.Evidence], claim_rules.Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
  """What the paper says.

  Attributes:
    name: short.
    words: the claim.
    where: in the paper.
    rule: what decides, in words.
    decide: the rule.
  """

  name: str
  words: str
  where: str
  rule: str
  decide: Decide


def lower_error(
    experiments: Sequence[str],
    lower: Sequence[str],
    higher: Sequence[str],
    summary: Callable = claim_rules.on_every_task,
    **tasks,
) -> Decide:
  """Compares each of `lower` with each of `higher`, task by task.

  Args:
    experiments: whose runs are compared.
    lower: methods that should have the lower log error.
    higher: methods that should have the higher one.
    summary: of the comparisons.
    **tasks: of `compared`.
  """
  pairs = [(a, b) for a, b in itertools.product(lower, higher) if a != b]
  return compared(experiments, pairs, summary=summary, **tasks)


def swings_less(
    pairs: Sequence[tuple[str, str]], experiment: str = 'hard', **tasks
) -> Decide:
  """Compares how much estimates swing on the way, task by task."""
  return compared((experiment,), pairs, 'log_swing', **tasks)


def settles_sooner(
    pairs: Sequence[tuple[str, str]], experiment: str = 'hard', **tasks
) -> Decide:
  """Compares after how many updates estimates stay where they end.

  Only runs with the paper's updates: in others methods differ in rates, too.
  """
  decide = compared((experiment,), pairs, 'log_settled', **tasks)

  def of_whole_runs(evidence):
    runs = evidence.runs
    if 'updates' in runs:  # What diverged was stopped before its end.
      runs = runs[(runs['updates'] == _UPDATES) | runs['diverged']]
    return decide(dataclasses.replace(evidence, runs=runs))

  return of_whole_runs


def compared(
    experiments: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    quantity: str = aggregates.ERROR,
    summary: Callable = claim_rules.on_every_task,
    on: Sequence[str] = ('',),
    but: Sequence[str] = (),
    min_tasks: int = 1,
) -> Decide:
  """Compares pairs of methods, task by task.

  A task is one in each experiment.

  Args:
    experiments: whose runs are compared.
    pairs: the first should have the lower number.
    quantity: the column of the tidy table that is compared.
    summary: of the comparisons.
    on: how the names of the tasks begin.
    but: how the names of those begin that are left out.
    min_tasks: of the summary.
  """

  def decide(evidence):
    found = []
    for experiment in experiments:
      numbers = claim_rules.errors_of(evidence, experiment, quantity=quantity)
      for lower, higher in pairs:
        same = claim_rules.compare(
            numbers, lower, higher, _QUANTITIES.get(quantity, '')
        )
        found += _named(same, experiment if len(experiments) > 1 else '')
    is_meant = lambda task: (
        task.startswith(tuple(on)) and not task.startswith(tuple(but))
    )
    found = [each for each in found if is_meant(each.task)]
    return summary(found, min_tasks, len(pairs))

  return decide


def _named(comparisons, experiment: str):
  """Yields comparisons whose tasks name the experiment, if one is given."""
  for each in comparisons:
    task = f'{each.task} ({experiment})' if experiment else each.task
    yield dataclasses.replace(each, task=task)


def all_similar(
    comparisons, min_tasks: int, per_task: int
) -> claim_rules.Finding:
  return claim_rules.on_every_task(
      claim_rules.similar(comparisons), min_tasks, per_task
  )


def none_gains(
    comparisons, min_tasks: int, per_task: int
) -> claim_rules.Finding:
  return claim_rules.on_every_task(
      claim_rules.no_gain(comparisons), min_tasks, per_task
  )


def _sizes(evidence) -> tuple[pd.DataFrame, list[int]]:
  """Returns the runs over the size of the data, and the sizes, rising."""
  runs = evidence.runs
  rows = runs[runs['experiment'] == 'ablation_size'] if len(runs) else runs
  return rows, sorted(set(rows['num_transitions'])) if len(rows) else []


def less_is_sometimes_more(evidence) -> claim_rules.Finding:
  """Compares SR-DICE on data sets of each two sizes."""
  _, sizes = _sizes(evidence)
  found = _srdice_over_sizes(evidence, itertools.combinations(sizes, 2))
  found = claim_rules.on_any_task(found)
  return dataclasses.replace(found, at_one_scale=True)


def _srdice_over_sizes(
    evidence, pairs: Iterable[tuple[int, int]]
) -> list[claim_rules.Comparison]:
  """Compares SR-DICE's log errors on data sets of two sizes each."""
  rows, _ = _sizes(evidence)
  if not len(rows):
    return []
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
  for lower, higher in pairs:
    found += claim_rules.compare(errors, name(lower), name(higher))
  return found


def on_smallest(lower: Sequence[str], higher: Sequence[str]) -> Decide:
  """Compares methods on the smallest data set."""
  compare_all = lower_error(('ablation_size',), lower, higher)

  def decide(evidence):
    rows, sizes = _sizes(evidence)
    if not sizes or sizes[0] > SMALLEST:
      return _NOTHING
    rows = rows[rows['num_transitions'] == sizes[0]]
    found = compare_all(dataclasses.replace(evidence, runs=rows))
    return dataclasses.replace(found, at_one_scale=True)

  return decide


def same_order_over_gamma(evidence) -> claim_rules.Finding:
  errors = claim_rules.errors_of(evidence, 'ablation_gamma')
  return claim_rules.same_order(errors, TRAINED)


def _variants(
    evidence, experiment: str, words: Callable, fields: Sequence[str]
) -> pd.DataFrame:
  """Returns log errors with columns such as 'dual_dice, linear in psi'."""
  columns = [f'method.{field}' for field in fields]
  if not {*columns} <= {*evidence.runs.columns}:
    return pd.DataFrame()
  name = lambda row: f'{row["method"]}, {words(*(row[c] for c in columns))}'
  # A method whose runs do not differ in a field has none.
  runs = evidence.runs.dropna(subset=columns)
  evidence = dataclasses.replace(evidence, runs=runs)
  return claim_rules.errors_of(evidence, experiment, name)


def _worded_input(inputs: str, linear: bool) -> str:
  inputs = '(s, a)' if inputs == 'states_actions' else inputs
  return f'linear in {inputs}' if linear else f'networks of {inputs}'


def over_representations(
    pairs: Sequence[tuple[str, str]], rule: Callable = list
) -> Decide:
  """Compares methods over inputs, named as by `_variants`."""

  def decide(evidence):
    fields = 'dice_inputs', 'dice_linear'
    errors = _variants(evidence, 'representations', _worded_input, fields)
    found = []
    for lower, higher in pairs:
      found += claim_rules.compare(errors, lower, higher)
    return claim_rules.on_every_task(rule(found), per_task=len(pairs))

  return decide


def more_biased_by_noise(evidence) -> claim_rules.Finding:
  """Compares the deep RL methods in the hard setting and with more noise."""
  runs = evidence.runs
  if not len(runs):
    return _NOTHING
  rows = runs[runs['experiment'].isin(['hard', 'ablation_noise'])]
  rows = rows.assign(
      label=rows['method'] + ' in ' + rows['experiment'],
      experiment='ablation_noise',
  )
  errors = claim_rules.errors_of(
      dataclasses.replace(evidence, runs=rows), 'ablation_noise'
  )
  found = []
  for name in DEEP_RL:
    found += claim_rules.compare(
        errors, f'{name} in hard', f'{name} in ablation_noise'
    )
  return claim_rules.on_every_task(found, per_task=len(DEEP_RL))


def over_numbers(
    experiment: str,
    field: str,
    words: str,
    methods: Sequence[str],
    rule: Callable = list,
    rising: bool = True,
) -> Decide:
  """Compares methods over the two values of a hyper-parameter.

  Args:
    experiment: whose runs are compared.
    field: the hyper-parameter.
    words: what it counts.
    methods: each is compared with itself.
    rule: what comparisons say.
    rising: whether the smaller value should have the lower log error.
  """

  def decide(evidence):
    worded, found = lambda number: f'{int(number):,} {words}', []
    errors = _variants(evidence, experiment, worded, (field,))
    for method in methods:
      columns = [c for c in errors.columns if c.startswith(f'{method},')]
      if len(columns) == 2:
        number = lambda c: int(c.split(', ')[1].split()[0].replace(',', ''))
        pair = sorted(columns, key=number, reverse=not rising)
        found += claim_rules.compare(errors, *pair)
    return claim_rules.on_every_task(rule(found), per_task=len(methods))

  return decide


def seconds_ratio(
    methods: Sequence[str],
    low: float,
    high: float = float('inf'),
    others: Sequence[str] = ('srdice',),
    last_phase: bool = False,
) -> Decide:
  """Compares the mean seconds of methods with those of others.

  Args:
    methods: whose seconds are divided,
    low: the least ratio to confirm.
    high: the largest.
    others: by whose.
    last_phase: whether only a method's own phase counts, without those that it
      shares with others.
  """
  pairs = list(itertools.product(methods, others))

  def decide(evidence):
    runs = evidence.runs
    rows = runs[runs['experiment'] == 'run_time'] if len(runs) else runs
    if not len(rows):
      return _NOTHING
    column = 'seconds'
    if last_phase:
      column = 'seconds of the last phase'
      of = lambda row: row['phase_seconds'][row['method']]
      rows = rows.assign(**{column: rows.apply(of, axis='columns')})
    return claim_rules.ratio_of(rows, column, pairs, low, high)

  return decide


def on_rewards(
    rule: Callable[..., claim_rules.Finding], *args, on: str = ''
) -> Decide:
  """Asks a rule about the table of random rewards, or some of its tasks."""

  def decide(evidence):
    rewards = evidence.tables.get('random_rewards')
    if rewards is None:
      return _NOTHING
    rewards = rewards[rewards['env'].str.startswith(on)]
    return rule(rewards, 'srdice', *args)

  return decide
