"""Rules that decide a claim: comparisons of log errors, with their intervals.

A comparison of two methods on a task takes the differences of their log errors
over the seeds that both have, and the 95% interval of their mean by Student's
t. A rule sums up the comparisons as one verdict; comparisons of other runs may
take the place of some before it does.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import itertools

import numpy as np
import pandas as pd
from scipy import stats

from srdice_tf.reports import aggregates

CONFIRMED, REFUTED, OPEN = 'confirmed', 'refuted', 'open'
BEHAVIOUR = 'behaviour'
FEW = 'too few seeds'  # What a comparison says that has not MIN_SEEDS.
MIN_SEEDS = 3
_ROUNDING = 1e-9
TOLERANCE = 1.0  # Log errors that differ by less count as similar.
YES, NO, UNDECIDED = 'yes', 'no', 'undecided'
_FIRST, _SECOND, _ALIKE = 'first is lower', 'second is lower', 'alike'


@dataclasses.dataclass(frozen=True)
class Evidence:
  """What claims are decided by.

  Attributes:
    runs: the tidy tables of all experiments, below each other.
    tables: further tables by kind, as in `run_records.Group`.
  """

  runs: pd.DataFrame
  tables: Mapping[str, pd.DataFrame]


@dataclasses.dataclass(frozen=True)
class Comparison:
  """The figures of a claim on one task.

  Attributes:
    task: where.
    what: what is compared.
    number: of seeds or trials.
    value: the mean difference, or another number that the rule names.
    low: of its 95% interval; None if it has none.
    high: likewise.
    answer: what they say of the claim.
    scale: of the runs.
  """

  task: str
  what: str
  number: int
  value: float | None
  low: float | None = None
  high: float | None = None
  answer: str = FEW
  scale: str = ''


@dataclasses.dataclass(frozen=True)
class Finding:
  """Figures, and what sums them up as a verdict.

  Attributes:
    comparisons: the figures.
    summary: gives their verdict.
    at_one_scale: whether they make sense only if all are of runs of one scale.
  """

  comparisons: Sequence[Comparison] = ()
  summary: Callable[[Sequence[Comparison]], str] = lambda comparisons: OPEN
  at_one_scale: bool = False

  @property
  def verdict(self) -> str:
    return self.summary(self.comparisons)


def errors_of(
    evidence: Evidence,
    experiment: str,
    key: Callable[[pd.Series], str] = lambda row: row['label'],
    quantity: str = aggregates.ERROR,
) -> pd.DataFrame:
  """Returns log errors by task and run, with a column for each method.

  A run that diverged counts one more than the worst of the experiment. Less
  than the truth's own error allows counts as that. The behaviour policy's value
  is a method, too.

  Args:
    evidence: with the tidy table.
    experiment: name; runs of no experiment count by their setting.
    key: names the column of a row of the tidy table; '' for none.
    quantity: another column of the tidy table, instead of log errors.
  """
  runs = evidence.runs
  if not len(runs) or quantity not in runs:
    return pd.DataFrame()
  is_loose = (runs['experiment'] == '') & (runs['setting'] == experiment)
  runs = runs[(runs['experiment'] == experiment) | is_loose]
  if quantity != aggregates.ERROR:  # Methods need not have it.
    runs = runs[runs[quantity].notna() | runs['diverged']]
  if not len(runs):
    return pd.DataFrame()
  errors = runs[quantity].astype(float)
  if quantity == aggregates.ERROR:
    errors = _at_least_allowed(errors, runs)
  finite = errors.where(np.isfinite(errors))
  runs = runs.assign(
      error=finite.fillna(finite.max() + 1.0), column=runs.apply(key, axis=1)
  )
  index = ['task', 'run']
  found = runs.pivot_table('error', index, 'column', aggfunc='first')
  if quantity != aggregates.ERROR:
    return found
  behaviour = runs['behaviour_log_error'].astype(float)
  runs = runs.assign(behaviour=_at_least_allowed(behaviour, runs))
  return found.assign(**{BEHAVIOUR: runs.groupby(index)['behaviour'].first()})


def _at_least_allowed(errors: pd.Series, runs: pd.DataFrame) -> pd.Series:
  """Returns log errors, none below what the error of the truth would give."""
  if 'truth_allows' not in runs:
    return errors
  allowed = pd.to_numeric(runs['truth_allows'], errors='coerce')
  return errors.mask(errors < allowed, allowed)


def compare(
    errors: pd.DataFrame, lower: str, higher: str, of: str = ''
) -> Iterable[Comparison]:
  """Yields, for each task, whether one method's log error is the lower one.

  Args:
    errors: by task and run, with a column for each method.
    lower: the method that should have the lower one.
    higher: the other.
    of: what the numbers are, if no log errors.
  """
  if not {lower, higher} <= {*errors.columns}:
    return
  difference = (errors[lower] - errors[higher]).dropna()
  for task, values in difference.groupby(level=0, sort=False):
    found = interval(values.to_numpy())
    answer = UNDECIDED
    if len(values) < MIN_SEEDS:
      answer = FEW
    elif found[2] < 0.0:
      answer = YES
    elif found[1] > 0.0:
      answer = NO
    what = f'{of}: ' * bool(of) + f'{lower} − {higher}'
    yield Comparison(str(task), what, len(values), *found, answer)


def interval(values: np.ndarray) -> tuple[float, float | None, float | None]:
  """Returns the mean and its 95% interval; None for a single value."""
  mean = float(np.mean(values))
  if len(values) < 2:
    return mean, None, None
  error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
  width = float(stats.t.ppf(0.975, len(values) - 1)) * error
  return mean, mean - width, mean + width


def on_every_task(
    comparisons: Iterable[Comparison],
    min_tasks: int = 1,
    per_task: int = 1,
    alone: float = TOLERANCE,
) -> Finding:
  """Confirmed if all say yes, on enough tasks; refuted if two say no.

  One that says no refutes, too, if its value is large: of many comparisons at
  95% one says no by chance.

  Args:
    comparisons: of tasks and pairs of methods.
    min_tasks: to confirm.
    per_task: comparisons that a task must have to count.
    alone: the size of a value from which on one refutes.
  """

  def summary(found: Sequence[Comparison]) -> str:
    answers = {each.answer for each in found}
    against = [abs(each.value) for each in found if each.answer == NO]
    if len(against) > 1 or max(against, default=-1.0) >= alone - _ROUNDING:
      return REFUTED
    num_tasks = len(_whole(found, per_task))
    return CONFIRMED if num_tasks >= min_tasks and answers == {YES} else OPEN

  return Finding(list(comparisons), summary)


def on_any_task(comparisons: Iterable[Comparison]) -> Finding:
  """Confirmed if one says yes; refuted if all say no."""

  def summary(found: Sequence[Comparison]) -> str:
    answers = {each.answer for each in found}
    if YES in answers:
      return CONFIRMED
    return REFUTED if answers == {NO} else OPEN

  return Finding(list(comparisons), summary)


def on_most_tasks(
    comparisons: Iterable[Comparison], min_tasks: int = 1, per_task: int = 1
) -> Finding:
  """Confirmed if more than half of the tasks say yes, refuted if no.

  Args:
    comparisons: of tasks and pairs of methods.
    min_tasks: for a verdict.
    per_task: comparisons that a task must have to count.
  """

  def summary(found: Sequence[Comparison]) -> str:
    tasks = _whole(found, per_task)
    num_yes = sum({*answers} == {YES} for answers in tasks)
    num_no = sum(NO in answers for answers in tasks)
    if len(tasks) < min_tasks:
      return OPEN
    if 2 * num_yes > len(tasks):
      return CONFIRMED
    return REFUTED if 2 * num_no > len(tasks) else OPEN

  return Finding(list(comparisons), summary)


def _whole(found: Sequence[Comparison], per_task: int) -> list[list[str]]:
  """Returns the answers of each task that has all of them."""
  tasks = {}
  for each in found:
    tasks.setdefault(each.task, []).append(each.answer)
  return [answers for answers in tasks.values() if len(answers) >= per_task]


def similar(comparisons: Iterable[Comparison]) -> list[Comparison]:
  """Returns comparisons that say whether two differ by less than 1."""
  found = []
  for each in comparisons:
    answer = each.answer
    if answer != FEW:
      is_inside = each.low > -TOLERANCE and each.high < TOLERANCE
      is_outside = each.low > TOLERANCE or each.high < -TOLERANCE
      answer = YES if is_inside else NO if is_outside else UNDECIDED
    found.append(dataclasses.replace(each, answer=answer))
  return found


def no_gain(comparisons: Iterable[Comparison]) -> list[Comparison]:
  """Returns comparisons that say whether the first is not lower by 1."""
  found = []
  for each in comparisons:
    answer = each.answer
    if answer != FEW:
      is_gain = each.high < -TOLERANCE
      is_none = each.low > -TOLERANCE
      answer = NO if is_gain else YES if is_none else UNDECIDED
    found.append(dataclasses.replace(each, answer=answer))
  return found


def same_order(errors: pd.DataFrame, methods: Sequence[str]) -> Finding:
  """Confirmed if each two methods have the same order on each task.

  That is, the log error of the one is clearly lower on all tasks, or the two
  differ by less than 1 on all. Refuted if it is clearly lower on one, and the
  other's on another one.
  """
  pairs = list(itertools.combinations(methods, 2))
  words = {YES: _FIRST, NO: _SECOND}
  found = []
  for pair in pairs:
    for each in compare(errors, *pair):
      (alike,) = similar([each])
      answer = words.get(each.answer, each.answer)
      answer = _ALIKE if alike.answer == YES else answer
      found.append(dataclasses.replace(each, answer=answer))
  summary = functools.partial(_order_summary, num_pairs=len(pairs))
  return Finding(found, summary, at_one_scale=True)


def _order_summary(found: Sequence[Comparison], num_pairs: int) -> str:
  by_pair = {}
  for each in found:
    by_pair.setdefault(each.what, []).append(each.answer)
  if any({_FIRST, _SECOND} <= {*answers} for answers in by_pair.values()):
    return REFUTED
  is_same = lambda answers: (
      len(answers) > 1
      and {*answers} in ({_FIRST}, {_SECOND}, {_ALIKE})
  )
  num_same = sum(map(is_same, by_pair.values()))
  return CONFIRMED if num_same == num_pairs else OPEN


def ratio_of(
    rows: pd.DataFrame,
    column: str,
    pairs: Sequence[tuple[str, str]],
    low: float,
    high: float,
) -> Finding:
  """Confirmed if the means of two methods have a ratio in a range."""
  found = []
  for first, second in pairs:
    a = rows.loc[rows['method'] == first, column]
    b = rows.loc[rows['method'] == second, column]
    if len(a) and len(b):
      value, count = float(a.mean() / b.mean()), min(len(a), len(b))
      answer = YES if low <= value <= high else NO
      answer = answer if count >= MIN_SEEDS else FEW
      what = f'{column} of {first} / {second}'
      found.append(Comparison('all', what, count, value, answer=answer))
  return on_every_task(found, per_task=len(pairs), alone=0.0)


def best_share(
    rewards: pd.DataFrame,
    method: str,
    others: Sequence[str],
    share: float,
    min_tasks: int = 1,
) -> Finding:
  """Confirmed if a method is the best on that share of rewards, on each task.

  What counts is whether the interval of the share over seeds, cut at 0 and 1,
  holds it.

  Args:
    rewards: with 'env', 'seed', 'reward', 'method' and 'log_mse'.
    method: that should be the best.
    others: that it is compared with.
    share: of the rewards of all seeds.
    min_tasks: to confirm.
  """
  found = []
  for env, table in _by_reward(rewards, (method, *others)):
    is_best = table[method] < table[list(others)].min(axis=1)
    shares = is_best.groupby(level='seed').mean().to_numpy()
    value, low, high = interval(shares)
    answer = FEW
    if len(shares) >= MIN_SEEDS:
      low, high = max(low, 0.0), min(high, 1.0)
      is_above, is_below = low > share - _ROUNDING, high < share - _ROUNDING
      answer = YES if is_above else NO if is_below else UNDECIDED
    what = f'share of rewards on which {method} is best'
    found.append(Comparison(env, what, len(shares), value, low, high, answer))
  return on_every_task(found, min_tasks, alone=0.0)


def lower_on_rewards(
    rewards: pd.DataFrame,
    method: str,
    others: Sequence[str],
    min_tasks: int = 1,
) -> Finding:
  """Confirmed if the mean log MSE is the lower one, on each task.

  All rewards of a seed have the same ratios: seeds are compared, not rewards. A
  log MSE below what the reward's truth allows counts as that.
  """
  if 'truth_error' in rewards:
    error = rewards['truth_error'] / rewards['data_mean']
    allowed = np.log(0.5 * error**2)
    rewards = rewards.assign(log_mse=np.maximum(rewards['log_mse'], allowed))
  found = []
  for env, table in _by_reward(rewards, (method, *others)):
    means = table.groupby(level='seed').mean()
    for other in others:
      found += compare(pd.concat({env: means}), method, other)
  return on_every_task(found, min_tasks, len(others))


def _by_reward(rewards: pd.DataFrame, methods: Sequence[str]):
  """Yields the log MSEs of each task, a row for each seed and reward."""
  for env, rows in rewards.groupby('env', sort=False):
    table = rows.pivot_table('log_mse', ['seed', 'reward'], 'method')
    if {*methods} <= {*table.columns}:
      yield str(env), table[list(methods)].dropna()
