"""What an evaluation says at its end: tables of methods, lines, a picture."""

from collections.abc import Sequence
import itertools
import math
import textwrap

import numpy as np
import pandas as pd

from srdice_tf import results
from srdice_tf.evaluation import intervals
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import tidy
from srdice_tf.reports import figures
from srdice_tf.reports import judgements
from srdice_tf.reports import not_finite
from srdice_tf.reports import summaries
from srdice_tf.reports import tables

_NUM_TRIALS = 5
_COLUMNS = 100
_RATIOS = {
    'mean ratio': 'ratio_mean',
    'should be': 'ratio_expected_mean',
    'ESS share': 'ratio_effective_share',
    'negative': 'ratio_negative_share',
    'largest': 'ratio_largest',
    'flow residual': 'flow_residual',
}
_MOST_ERROR = 1e4  # Beyond it an error says how near to 0 the truth is.
_OF_ESTIMATES = 'value', 'relative_error', 'log_error', 'smoothed_log_error'
_ERRORS = {
    'truth': 'truth',
    '+-': 'truth_error',
    'error': 'relative_error',
    'log error': 'log_error',
}


def text(
    evaluations: Sequence[results.Evaluation], verbose: bool = False
) -> str:
  """Returns the tables: first the estimates, then the density ratios.

  With several seeds they have means, deviations over seeds, and the interval of
  the mean. A method that a seed lacks says how many have it.

  Args:
    evaluations: that differ in nothing but their seed.
    verbose: whether the times and the smoothed errors have a table, too.
  """
  found = [_estimates(evaluations), _ratios(evaluations)]
  if verbose:
    found.append(_rest(evaluations))
  return '\n\n'.join(filter(None, found))


def _estimates(evaluations) -> str:
  errors = _ERRORS if evaluations[0].truth is not None else {}
  grades = ['verdict'] if judgements.grade(evaluations) else []
  columns = 'method', 'estimate', 'low 95%', 'high 95%', *errors, *grades
  rows = []
  for name, same, frame in by_method(evaluations):
    interval = intervals.over_seeds(
        [result.value for result in same], [result.interval for result in same]
    )
    rows.append([
        name,
        _mean(frame, 'value'),
        *(interval or (None, None)),
        *(_mean(frame, key) for key in errors.values()),
        *(judgements.column(same) for _ in grades),
    ])
    if len(same) > 1:
      rows.append([
          '  std over seeds',
          _deviation(frame, 'value'),
          None,
          None,
          *(_deviation(frame, key) for key in errors.values()),
          *(None for _ in grades),
      ])
  _as_percent(rows, columns)
  return tables.format_table(columns, rows)


def _as_percent(rows, columns):
  """Writes the relative error as a percentage; none of a truth near 0."""
  if 'error' not in columns:
    return
  place = columns.index('error')
  for row in rows:
    if row[place] is not None and math.isfinite(row[place]):
      is_known = row[place] < _MOST_ERROR
      row[place] = f'{row[place]:.1%}' if is_known else None


def _ratios(evaluations) -> str:
  rows = [
      [name, *(_mean(frame, key) for key in _RATIOS.values()), on]
      for name, same, frame in by_method(evaluations)
      if same[0].diagnostics is not None
      for on in [same[0].flow_scored_on]
  ]
  columns = 'density ratios', *_RATIOS, 'scored on'
  return tables.format_table(columns, rows) if rows else ''


def _rest(evaluations) -> str:
  keys = {'seconds': 'seconds', 'standard error': 'standard_error'}
  if evaluations[0].truth is not None:
    keys['log error, last 4%'] = 'smoothed_log_error'
  rows = [
      [name, *(_mean(frame, key) for key in keys.values())]
      for name, _, frame in by_method(evaluations)
  ]
  return tables.format_table(('further', *keys), rows)


def by_method(evaluations):
  """Yields the label of each method, its results, and its rows of the table."""
  frame = tidy.frame(evaluations)
  for name in dict.fromkeys(frame['method']):
    same = [e[name] for e in evaluations if name in e.methods]
    label = name
    if len(same) < len(evaluations):
      label += f' ({len(same)} of {len(evaluations)} seeds)'
    yield label, same, frame[frame['method'] == name]


def _mean(frame: pd.DataFrame, key: str) -> float | None:
  """Returns the mean of a column; None if it is missing in a row."""
  column = frame[key].astype(np.float64)
  # Only of an estimate and its errors NaN says that the method diverged.
  if key not in _OF_ESTIMATES and column.isna().any():
    return None
  return float(np.mean(column.to_numpy()))


def _deviation(frame: pd.DataFrame, key: str) -> float | None:
  """Returns the deviation over seeds, of what differs between them."""
  return tables.deviation(frame[key]) if key in _OF_ESTIMATES else None


def lines(evaluation: results.Evaluation, trials_path: str = '') -> str:
  """Returns what the methods of a run say beside their numbers.

  Args:
    evaluation: of one run.
    trials_path: where the settings that were tried are written.
  """
  found = []
  for name, result in evaluation.methods.items():
    found += map(_wrapped, result.lines)
    if result.trials:
      found.append(_trials(evaluation, name, trials_path))
  return '\n'.join(found)


def _wrapped(line: str) -> str:
  return textwrap.fill(
      line, _COLUMNS, subsequent_indent='  ', break_long_words=False,
      break_on_hyphens=False,
  )


def _trials(evaluation: results.Evaluation, name: str, path: str) -> str:
  """Returns the best of the settings that were tried, as a table."""
  frame = tidy.trials(evaluation, name)
  text_ = f'{name}: the best of {len(frame)} settings by flow residual'
  correlation = tidy.rank_correlation(evaluation.truth, evaluation[name])
  if correlation is not None:
    text_ += f'; rank correlation with the true error {correlation:.2f}'
  if path:
    text_ += f'; all in {path}'
  rows = frame.head(_NUM_TRIALS).astype(object).values.tolist()
  text_ = _wrapped(text_)
  return f'{text_}\n{tables.format_table(list(frame.columns), rows)}'


def truth_lines(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns a line on the truth; on each, if it is not the same for all."""
  found = [
      _prefix(each, evaluations) + summaries.of_truth(each.truth)
      for each in evaluations
      if each.truth is not None
  ]
  return '\n'.join(dict.fromkeys(found)) or 'truth         not known'


def behaviour_lines(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns what is known of the behaviour policy, for comparison."""
  rewards = np.mean([evaluation.mean_reward for evaluation in evaluations])
  text_ = f'behaviour     {rewards:.5f} mean reward of the data'
  values = [e.behaviour.value for e in evaluations if e.behaviour is not None]
  if values:
    text_ += f', {np.mean(values):.5f} its true value'
  return text_


def _prefix(evaluation, evaluations) -> str:
  """Returns the environment, where there are several."""
  several = len({each.env_id for each in evaluations}) > 1
  return f'{evaluation.env_id}: ' if several else ''


def check_finite(evaluations: Sequence[results.Evaluation], where: str):
  """Raises an error if a method of a run has no finite estimate."""
  several = len(evaluations) > 1
  values = {
      name + (f' on {e.env_id} seed {e.seed}' if several else ''): result.value
      for e in evaluations
      for name, result in e.methods.items()
  }
  not_finite.check(values, where)


def title(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns what stands above the picture."""
  first, count = evaluations[0], len(evaluations)
  setting = f', {first.setting} setting' if first.setting else ''
  name = first.env_id or first.data or 'logged data'
  return f'{name}{setting}, {count} seed{"s" * (count > 1)}'


def plot(evaluations: Sequence[results.Evaluation], path: str):
  """Draws log errors and estimates over updates, with deviations over seeds.

  Without truth, only the estimates.

  Args:
    evaluations: that differ in nothing but their seed.
    path: of the picture.
  """
  joined = _joined(evaluations)
  values = {
      method: (steps, found.mean(axis=0), _interval(evaluations, method))
      for method, (steps, found) in joined.items()
  }
  truths = [e.truth for e in evaluations if e.truth is not None]
  if not truths:
    figures.plot_estimates(path, values, title(evaluations))
    return
  behaviour = [
      log_error.log_error(e.behaviour.value, e.truth.value)
      for e in evaluations
      if e.behaviour is not None
  ]
  figures.plot_curves(
      path,
      {
          method: (steps, _log_errors(evaluations, method, estimates))
          for method, (steps, estimates) in joined.items()
      },
      float(np.mean(behaviour)) if behaviour else None,
      title(evaluations),
      values=values,
      truth=(
          float(np.mean([truth.value for truth in truths])),
          float(np.mean([truth.standard_error for truth in truths])),
      ),
  )


def _joined(evaluations) -> dict[str, tuple[np.ndarray, np.ndarray]]:
  """Returns the updates [T] and the estimates [S, T] of each method, by name.

  A method that diverged has fewer points in that run, or none: the rest is NaN.
  A run that never had the method does not count.
  """
  joined = {}
  names = itertools.chain.from_iterable(e.methods for e in evaluations)
  for method in dict.fromkeys(names):
    found = [e[method].curve for e in evaluations if method in e.methods]
    steps = max((curve.steps for curve in found), key=len)
    if steps:
      joined[method] = np.asarray(steps), np.stack(
          [_padded(curve.estimates, len(steps)) for curve in found]
      )  # [T], [S, T]
  return joined


def _log_errors(evaluations, method: str, estimates: np.ndarray) -> np.ndarray:
  truths = [e.truth.value for e in evaluations if method in e.methods]
  return log_error.log_error(estimates, np.array(truths)[:, None])  # [S, T]


def _interval(evaluations, method: str) -> tuple[float, float] | None:
  """Returns low and high of the mean over the runs that have a method."""
  found = [e[method] for e in evaluations if method in e.methods]
  return intervals.over_seeds(
      [result.value for result in found],
      [result.interval for result in found],
  )


def _padded(values: Sequence[float], length: int) -> np.ndarray:
  return np.pad(
      np.asarray(values, np.float64),
      (0, length - len(values)),
      constant_values=np.nan,
  )  # [T]
