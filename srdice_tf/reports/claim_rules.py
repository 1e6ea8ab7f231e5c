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
import itertools

import numpy as np
import pandas as pd
from scipy import stats

from srdice_tf.reports import aggregates

CONFIRMED, REFUTED, OPEN = 'confirmed', 'refuted', 'open'
BEHAVIOUR = 'behaviour'
FEW = 'too few seeds'  # What a comparison says that has not MIN_SEEDS.
MIN_SEEDS = 3
TOLERANCE = 1.0  # Log errors that differ by less count as similar.
_YES, _NO, _UNDECIDED = 'yes', 'no', 'undecided'
_FIRST, _SECOND = 'the first is lower', 'the second'


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
  """Figures, and what sums them up as a verdict."""

  comparisons: Sequence[Comparison] = ()
  summary: Callable[[Sequence[Comparison]], str] = lambda comparisons: OPEN

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

  A run that diverged counts one more than the worst of the experiment. The
  behaviour policy's value is a method, too.

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
  finite = errors.where(np.isfinite(errors))
  runs = runs.assign(
      error=finite.fillna(finite.max() + 1.0), column=runs.apply(key, axis=1)
  )
  index = ['task', 'run']
  found = runs.pivot_table('error', index, 'column', aggfunc='first')
  if quantity != aggregates.ERROR:
    return found
  behaviour = runs.groupby(index)['behaviour_log_error'].first()
  return found.assign(**{BEHAVIOUR: behaviour.astype(float)})


def compare(
    errors: pd.DataFrame, lower: str, higher: str
) -> Iterable[Comparison]:
  """Yields, for each task, whether one method's log error is the lower one."""
  if not {lower, higher} <= {*errors.columns}:
    return
  difference = (errors[lower] - errors[higher]).dropna()
  for task, values in difference.groupby(level=0, sort=False):
    found = _interval(values.to_numpy())
    answer = _UNDECIDED
    if len(values) < MIN_SEEDS:
      answer = FEW
    elif found[2] < 0.0:
      answer = _YES
    elif found[1] > 0.0:
      answer = _NO
    what = f'{lower} − {higher}'
    yield Comparison(str(task), what, len(values), *found, answer)


def _interval(values: np.ndarray) -> tuple[float, float | None, float | None]:
  """Returns the mean and its 95% interval; None for a single value."""
  mean = float(np.mean(values))
  if len(values) < 2:
    return mean, None, None
  error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
  width = float(stats.t.ppf(0.975, len(values) - 1)) * error
  return mean, mean - width, mean + width


def on_every_task(
    comparisons: Iterable[Comparison], min_tasks: int = 1, min_number: int = 1
) -> Finding:
  """Confirmed if all say yes, enough of them; refuted if one says no.

  Args:
    comparisons: of tasks and pairs of methods.
    min_tasks: to confirm.
    min_number: of comparisons to confirm, so that no pair is missing.
  """

  def summary(found: Sequence[Comparison]) -> str:
    answers = [each.answer for each in found]
    if _NO in answers:
      return REFUTED
    is_whole = len({each.task for each in found}) >= min_tasks
    is_whole = is_whole and len(found) >= min_number
    return CONFIRMED if is_whole and set(answers) == {_YES} else OPEN

  return Finding(list(comparisons), summary)


def on_most_tasks(
    comparisons: Iterable[Comparison], min_tasks: int = 1, min_number: int = 1
) -> Finding:
  """Confirmed if more than half of the tasks say yes, refuted if no.

  Args:
    comparisons: of tasks and pairs of methods.
    min_tasks: for a verdict.
    min_number: of comparisons to confirm, so that no pair is missing.
  """

  def summary(found: Sequence[Comparison]) -> str:
    by_task = {}
    for each in found:
      by_task.setdefault(each.task, []).append(each.answer)
    num_yes = sum(set(answers) == {_YES} for answers in by_task.values())
    num_no = sum(_NO in answers for answers in by_task.values())
    if len(by_task) < min_tasks:
      return OPEN
    if 2 * num_yes > len(by_task) and len(found) >= min_number:
      return CONFIRMED
    return REFUTED if 2 * num_no > len(by_task) else OPEN

  return Finding(list(comparisons), summary)


def similar(comparisons: Iterable[Comparison]) -> list[Comparison]:
  """Returns comparisons that say whether two differ by less than 1."""
  found = []
  for each in comparisons:
    answer = each.answer
    if answer != FEW:
      is_inside = each.low > -TOLERANCE and each.high < TOLERANCE
      is_outside = each.low > TOLERANCE or each.high < -TOLERANCE
      answer = _YES if is_inside else _NO if is_outside else _UNDECIDED
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
      answer = _NO if is_gain else _YES if is_none else _UNDECIDED
    found.append(dataclasses.replace(each, answer=answer))
  return found


def same_order(errors: pd.DataFrame, methods: Sequence[str]) -> Finding:
  """Confirmed if no two methods change places from task to task.

  Two methods change places if the one's log error is clearly lower on a task,
  and the other's on another one.
  """
  pairs = itertools.combinations(methods, 2)
  words = {_YES: _FIRST, _NO: _SECOND}
  found = [
      dataclasses.replace(each, answer=words.get(each.answer, each.answer))
      for pair in pairs
      for each in compare(errors, *pair)
  ]
  return Finding(found, _order_summary)


def _order_summary(found: Sequence[Comparison]) -> str:
  by_pair = {}
  for each in found:
    by_pair.setdefault(each.what, []).append(each.answer)
  if any({_FIRST, _SECOND} <= {*answers} for answers in by_pair.values()):
    return REFUTED
  is_known = lambda answers: len(answers) > 1 and FEW not in answers
  return CONFIRMED if any(map(is_known, by_pair.values())) else OPEN


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
      answer = _YES if low <= value <= high else _NO
      answer = answer if count >= MIN_SEEDS else FEW
      what = f'{column} of {first} / {second}'
      found.append(Comparison('all', what, count, value, answer=answer))
  return on_every_task(found, min_number=len(pairs))


def best_share(
    rewards: pd.DataFrame, method: str, others: Sequence[str], share: float
) -> Finding:
  """Confirmed if a method is the best on that share of rewards, on each task.

  Args:
    rewards: with 'env', 'seed', 'reward', 'method' and 'log_mse'.
    method: that should be the best.
    others: that it is compared with.
    share: of the rewards of all seeds.
  """
  found = []
  for env, table in _by_reward(rewards, (method, *others)):
    is_best = table[method] < table[list(others)].min(axis=1)
    shares = is_best.groupby(level='seed').mean().to_numpy()
    value, low, high = _interval(shares)
    answer = _YES if value >= share else _NO
    answer = answer if len(shares) >= MIN_SEEDS else FEW
    what = f'share of rewards on which {method} is best'
    found.append(Comparison(env, what, len(shares), value, low, high, answer))
  return on_every_task(found)


def lower_on_rewards(
    rewards: pd.DataFrame, method: str, others: Sequence[str]
) -> Finding:
  """Confirmed if the mean log MSE is the lower one, on each task.

  All rewards of a seed have the same ratios: seeds are compared, not rewards.
  """
  found = []
  for env, table in _by_reward(rewards, (method, *others)):
    means = table.groupby(level='seed').mean()
    for other in others:
      found += compare(pd.concat({env: means}), method, other)
  return on_every_task(found)


def _by_reward(rewards: pd.DataFrame, methods: Sequence[str]):
  """Yields the log MSEs of each task, a row for each seed and reward."""
  for env, rows in rewards.groupby('env', sort=False):
    table = rows.pivot_table('log_mse', ['seed', 'reward'], 'method')
    if {*methods} <= {*table.columns}:
      yield str(env), table[list(methods)].dropna()
