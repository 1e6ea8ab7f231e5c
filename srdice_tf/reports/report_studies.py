"""Figures of studies that are no evaluations: the chain, random rewards."""

import functools

import numpy as np
import pandas as pd

from srdice_tf.reports import figures
from srdice_tf.reports import report_parts
from srdice_tf.reports import tables

_LAST = 10  # Evaluations on the chain that count as its end.
# The ratio 1: no correction at all.
_ONE = figures.Style('ratio 1 (behaviour)', 'black', '--')
_RATIO_ONE = 'behaviour'
# The paper's table: mean log MSE, and the share of rewards in % on which a
# method is the best of the three.
_PRINTED = {
    'HalfCheetah': ((-5.9, 82.6), (-0.7, 0.4), (-3.7, 17.1)),
    'Hopper': ((-6.4, 80.4), (-1.3, 0.5), (-3.9, 19.1)),
    'Walker2d': ((-6.4, 81.7), (-2.3, 0.5), (-4.0, 17.8)),
    'Ant': ((-6.3, 81.9), (-1.6, 1.4), (-3.2, 16.7)),
    'Humanoid': ((-6.5, 98.8), (-2.0, 0.0), (-3.5, 1.2)),
}
NUM_PRINTED = 2  # Columns of the paper's numbers, at the end of the table.
_PRINTED_METHODS = 'srdice', 'dual_dice', 'gradient_dice'


def of_chain(chain: pd.DataFrame, name: str) -> report_parts.ReportFigure:
  """Returns the errors of ratios over updates, one panel a kind of features.

  Args:
    chain: the content of chain.csv: a column for each trial.
    name: of the figure's files.
  """
  trials = [column for column in chain.columns if column.isdigit()]
  looks = figures.styles_of(list(dict.fromkeys(chain['method'])))
  panels, rows = [], []
  for features, same in chain.groupby('features', sort=False):
    curves = {}
    for method, found in same.groupby('method', sort=False):
      errors = found[trials].to_numpy(np.float64).T  # [T, E]
      curves[method] = found['step'].to_numpy(), errors
      last = errors[:, -_LAST:].mean(axis=1)
      rows.append([
          features, looks[method].label, len(last), float(last.mean()),
          tables.deviation(last),
      ])
    draw = functools.partial(
        _draw_chain, title=f'{features} features', curves=curves, looks=looks
    )
    panels.append(report_parts.Panel(f'{features} features', draw))
  columns = 'features', 'method', 'trials', f'log MSE, last {_LAST}', 'std'
  updates = int(chain['step'].max())
  return report_parts.ReportFigure(
      name=name,
      title='Density ratios on the five-state chain',
      caption='Log MSE of the ratios to the exact ones; the shade is one'
      f' standard deviation. {len(trials)} trials, {updates:,} updates.',
      panels=panels,
      legend=list(looks.values()),
      table=report_parts.ReportTable(name, columns, rows, 'The chain.'),
  )


def _draw_chain(axes, title, curves, looks):
  figures.draw_methods(axes, curves, 1, looks)
  figures.finish_axes(axes, title)
  axes.set_ylabel('log MSE of the ratio')


def told_apart(rewards: pd.DataFrame) -> pd.DataFrame:
  """Returns random rewards with methods that tell their settings.

  A method that was tried in several settings has a name for each, such as
  'srdice_lstd, fast5000'; the ratio 1 is the same in all.

  Args:
    rewards: with 'env', 'seed', 'reward', 'method', 'log_mse', and 'label' of
      the setting.
  """
  is_one = rewards['method'] == _RATIO_ONE
  labels = rewards[~is_one].groupby('method')['label'].nunique()
  several = rewards['method'].isin(labels.index[labels > 1])
  names = rewards['method'] + ', ' + rewards['label']
  found = rewards.assign(method=rewards['method'].where(~several, names))
  return found.drop_duplicates(['env', 'seed', 'reward', 'method'])


def of_rewards(rewards: pd.DataFrame, name: str) -> report_parts.ReportFigure:
  """Returns how the errors over random rewards are distributed.

  Args:
    rewards: with 'env', 'seed', 'reward', 'method' and 'log_mse'.
    name: of the figure's files.
  """
  looks = reward_styles(rewards)
  panels, rows = [], []
  for env, same in rewards.groupby('env', sort=False):
    errors = same.pivot_table('log_mse', ['seed', 'reward'], 'method')
    # What diverged has no error, and is not the best.
    errors = errors[[method for method in looks if method in errors]]
    rows += _reward_rows(env, errors, looks)
    draw = functools.partial(
        _draw_rewards, title=env, errors=errors, looks=looks
    )
    panels.append(report_parts.Panel(env, draw))
  columns = (
      'task', 'method', 'rewards', 'mean log MSE', 'std', 'best on %',
      '% of the three', 'paper: log MSE', 'paper: best on %',
  )
  seeds = rewards['seed'].nunique()
  return report_parts.ReportFigure(
      name=name,
      title='Errors over random rewards',
      caption='Share of the random rewards whose log MSE is at most the one on'
      ' the axis; further left is better. Values are divided by the mean reward'
      f' of the data. {seeds} seed{"s" * (seeds > 1)}. The paper has no row for'
      ' the ratio 1.',
      panels=panels,
      legend=list(looks.values()),
      table=report_parts.ReportTable(name, columns, rows, 'Random rewards.'),
  )


def reward_styles(rewards: pd.DataFrame) -> dict[str, figures.Style]:
  """Returns the styles of the methods, and of the ratio 1."""
  looks = figures.styles_of(list(dict.fromkeys(rewards['method'])))
  for name, style in looks.items():
    method, comma, setting = name.partition(', ')
    label = figures.styles_of([method])[method].label
    looks[name] = style._replace(label=f'{label}{comma}{setting}')
  return looks | ({_RATIO_ONE: _ONE} if _RATIO_ONE in looks else {})


def _reward_rows(env, errors: pd.DataFrame, looks) -> list[list]:
  best, best_of_three = _best_shares(errors), {}
  if {*_PRINTED_METHODS} <= {*errors}:  # As the paper compares them.
    best_of_three = _best_shares(errors[list(_PRINTED_METHODS)])
  return [
      [
          env,
          looks[method].label,
          int(errors[method].count()),
          float(errors[method].mean()),
          tables.deviation(errors[method].dropna()),
          best[method],
          best_of_three.get(method),
          *_printed(env, method),
      ]
      for method in errors
  ]


def _best_shares(errors: pd.DataFrame) -> dict[str, float]:
  """Returns on how many % of the rewards each method has the least error."""
  best = errors.idxmin(axis=1)
  return {method: 100.0 * float((best == method).mean()) for method in errors}


def _printed(env: str, method: str) -> tuple[float | None, float | None]:
  """Returns what the paper's table says, if it has the task and the method."""
  row = _PRINTED.get(env.partition('-')[0], ())
  return dict(zip(_PRINTED_METHODS, row)).get(method, (None, None))


def _draw_rewards(axes, title, errors: pd.DataFrame, looks):
  shares = np.arange(1, len(errors) + 1) / len(errors)
  # The rarest few would squeeze all others together.
  low, high = np.nanquantile(errors, [0.005, 0.995])
  for method in errors:
    style = looks[method]
    axes.plot(
        np.sort(errors[method]), shares, color=style.color,
        ls='--' if style.marker == '--' else '-',
        marker='' if style.marker == '--' else style.marker,
        markevery=max(1, len(errors) // 8), markeredgecolor='white',
    )
  axes.set_xlim(low, high)
  axes.set_title(title)
  axes.set_xlabel('log MSE')
  axes.set_ylabel('share of rewards below')
  axes.grid(color='0.9')
  axes.set_axisbelow(True)
  axes.spines[['top', 'right']].set_visible(False)
