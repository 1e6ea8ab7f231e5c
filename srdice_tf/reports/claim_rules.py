"""Rules that decide a claim: comparisons of log errors, with their intervals.

A comparison of two methods on a task takes the differences of their log errors
over the seeds that both have, and the 95% interval of their mean by Student's
t. A rule sums up the comparisons as one verdict.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

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
  """

  task: str
  what: str
  number: int
  value: float | None
  low: float | None = None
  high: float | None = None
  answer: str = FEW


@dataclasses.dataclass(frozen=True)
class Finding:
  """A verdict, and the figures it rests on."""

  verdict: str
  comparisons: Sequence[Comparison] = ()


def errors_of(
    evidence: Evidence,
    experiment: str,
    key: Callable[[pd.Series], str] = lambda row: row['label'],
) -> pd.DataFrame:
  """Returns log errors by task and run, with a column for each method.

  A run that diverged counts one more than the worst of the experiment. The
  behaviour policy's value is a method, too.

  Args:
    evidence: with the tidy table.
    experiment: name; runs of no experiment count by their setting.
    key: names the column of a row of the tidy table; '' for none.
  """
  runs = evidence.runs
  if not len(runs) or aggregates.ERROR not in runs:
    return pd.DataFrame()
  is_loose = (runs['experiment'] == '') & (runs['setting'] == experiment)
  runs = runs[(runs['experiment'] == experiment) | is_loose]
  if not len(runs):
    return pd.DataFrame()
  errors = runs[aggregates.ERROR].astype(float)
  finite = errors.where(np.isfinite(errors))
  runs = runs.assign(
      error=finite.fillna(finite.max() + 1.0), column=runs.apply(key, axis=1)
  )
  index = ['task', 'run']
  found = runs.pivot_table('error', index, 'column', aggfunc='first')
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
    comparisons: Iterable[Comparison], min_tasks: int = 1
) -> Finding:
  """Confirmed if all say yes, on so many tasks; refuted if one says no."""
  found = list(comparisons)
  answers = [each.answer for each in found]
  if _NO in answers:
    return Finding(REFUTED, found)
  num_tasks = len({each.task for each in found})
  is_whole = num_tasks >= min_tasks and set(answers) == {_YES}
  return Finding(CONFIRMED if is_whole else OPEN, found)


def on_most_tasks(
    comparisons: Iterable[Comparison], min_tasks: int = 1
) -> Finding:
  """Confirmed if more than half of the tasks say yes, refuted if no."""
  found = list(comparisons)
  by_task = {}
  for each in found:
    by_task.setdefault(each.task, []).append(each.answer)
  num_yes = sum(set(answers) == {_YES} for answers in by_task.values())
  num_no = sum(_NO in answers for answers in by_task.values())
  verdict = OPEN
  if len(by_task) >= min_tasks and 2 * num_yes > len(by_task):
    verdict = CONFIRMED
  elif len(by_task) >= min_tasks and 2 * num_no > len(by_task):
    verdict = REFUTED
  return Finding(verdict, found)


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
  found, verdict, num_pairs = [], CONFIRMED, 0
  for i, first in enumerate(methods):
    for second in methods[i + 1 :]:
      same = list(compare(errors, first, second))
      answers = {each.answer for each in same}
      found += same
      num_pairs += len(same) > 1 and FEW not in answers
      if {_YES, _NO} <= answers:
        verdict = REFUTED
  if verdict == CONFIRMED and not num_pairs:
    verdict = OPEN
  return Finding(verdict, found)


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
  if len(found) < len(pairs):
    return Finding(OPEN, found)
  return on_every_task(found)


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
