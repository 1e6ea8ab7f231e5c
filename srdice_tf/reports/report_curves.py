"""Figures of a report: log errors over updates, over a setting, run times."""

from collections.abc import Mapping
import functools

import numpy as np
import pandas as pd

from srdice_tf.evaluation import log_error
from srdice_tf.reports import figures
from srdice_tf.reports import report_parts
from srdice_tf.reports import run_records
from srdice_tf.reports import tables

BEHAVIOUR = figures.Style('behaviour R(π_b)', 'black', '--')
_AXIS = 'log error (log MSE)'


def styles(frame: pd.DataFrame) -> dict[str, figures.Style]:
  """Returns the style of each label, the same in all figures of a group."""
  found = figures.styles_of(list(dict.fromkeys(frame['label'])))
  for _, row in frame.drop_duplicates('label').iterrows():
    if row['variant']:
      base = figures.styles_of([row['method']])[row['method']].label
      label = f'{base}, {row["variant"]}'
      found[row['label']] = found[row['label']]._replace(label=label)
  return found


def curves(
    group: run_records.Group, frame: pd.DataFrame, name: str
) -> report_parts.ReportFigure | None:
  """Returns the log error over updates, one panel a task; None without any."""
  looks, evaluations = styles(frame), _by_directory(group)
  panels, drawn, any_behaviour = [], {}, False
  for task, rows in frame.groupby('task', sort=False):
    lines = {
        label: _joined(rows[rows['label'] == label], evaluations)
        for label in dict.fromkeys(rows['label'])
    }
    lines = {label: line for label, line in lines.items() if line}
    if not lines:
      continue
    drawn |= dict.fromkeys(lines)
    behaviour = _mean(rows.drop_duplicates('directory')['behaviour_log_error'])
    any_behaviour |= behaviour is not None
    draw = functools.partial(
        _draw_curves, task=task, lines=lines, looks=looks, behaviour=behaviour
    )
    panels.append(report_parts.Panel(task, draw))
  if not panels:
    return None
  legend = [looks[label] for label in drawn]
  return report_parts.ReportFigure(
      name=name,
      title='Log error over updates',
      caption=(
          'log(0.5 (estimate − truth)²), mean of 4% of the points of a'
          ' curve; the shade is one standard deviation over seeds.'
          f' {numbers_of(group, frame)}'
      ),
      panels=panels,
      legend=legend + [BEHAVIOUR] * any_behaviour,
  )


def _by_directory(group) -> dict:
  return {record.directory: record.evaluation for record in group.records}


def _joined(rows: pd.DataFrame, evaluations) -> tuple | None:
  """Returns updates [T] and log errors [S, T] of one label in one task."""
  found = []
  for _, row in rows.iterrows():
    evaluation = evaluations[row['directory']]
    if evaluation.truth is not None:
      found.append((evaluation.truth.value, evaluation[row['method']].curve))
  longest = max((curve.steps for _, curve in found), key=len, default=())
  if not longest:
    return None
  errors = np.full((len(found), len(longest)), np.nan)
  for line, (truth, curve) in zip(errors, found):
    line[: len(curve.estimates)] = log_error.log_error(
        np.asarray(curve.estimates), truth
    )
  return np.asarray(longest), errors


def _draw_curves(axes, task, lines, looks, behaviour):
  figures.draw_methods(axes, lines, 0, looks)
  if behaviour is not None:
    axes.axhline(behaviour, color=BEHAVIOUR.color, ls='--')
  figures.finish_axes(axes, task)
  axes.set_ylabel(_AXIS)


def _mean(values) -> float | None:
  values = pd.to_numeric(values, errors='coerce').dropna()
  return float(values.mean()) if len(values) else None


def numbers_of(group: run_records.Group, frame: pd.DataFrame) -> str:
  """Returns a sentence on seeds, updates and minibatches."""
  seeds = frame.groupby(['task', 'label'])['seed'].nunique().tolist()
  updates = frame.loc[frame['updates'] > 0, 'updates']
  parts = [f'{_range(seeds)} seed{"s" * (max(seeds) > 1)}']
  if len(updates):
    parts.append(f'{_range(updates)} updates')
  batches = _batches(group)
  parts += [f'minibatches of {batches}'] if batches else []
  parts += [f'scale “{group.scale}”'] if group.scale else []
  return ', '.join(parts).capitalize() + '.'


def _range(values) -> str:
  low, high = int(min(values)), int(max(values))
  return f'{low:,}' if low == high else f'{low:,} to {high:,}'


def _batches(group) -> str:
  sizes: Mapping[int, dict] = {}
  for record in group.records:
    for name, fields in record.config.get('hyperparameters', {}).items():
      size = fields.get('ratio_batch_size', fields.get('batch_size'))
      if size:
        sizes.setdefault(size, {})[name] = None
  if len(sizes) == 1:
    return f'{next(iter(sizes)):,}'
  return ', '.join(
      f'{size:,} ({", ".join(names)})' for size, names in sorted(sizes.items())
  )


def over_settings(
    group: run_records.Group, frame: pd.DataFrame, name: str
) -> report_parts.ReportFigure | None:
  """Returns error bars over each number that tasks differ in, if any."""
  looks, panels, drawn = styles(frame), [], {}
  for column in [c for c in frame.columns if c.startswith('task.')]:
    for env, rows in frame.groupby('env'):
      rows = rows[pd.to_numeric(rows[column], errors='coerce').notna()]
      if rows[column].nunique() < 2 or 'smoothed_log_error' not in rows:
        continue
      drawn |= dict.fromkeys(rows['label'])
      field = column.removeprefix('task.')
      draw = functools.partial(
          _draw_bars, rows=rows, column=column, looks=looks, title=env
      )
      panels.append(report_parts.Panel(f'{env} over {field}', draw))
  if not panels:
    return None
  return report_parts.ReportFigure(
      name=name,
      title='Log error over settings of the task',
      caption=(
          'Mean log error at the end of training, bars are one standard'
          f' deviation over seeds. {numbers_of(group, frame)}'
      ),
      panels=panels,
      legend=[looks[label] for label in drawn],
  )


def _draw_bars(axes, rows, column, looks, title):
  values = sorted(map(float, rows[column].unique()))
  labels = list(dict.fromkeys(rows['label']))
  for number, label in enumerate(labels):
    same = rows[rows['label'] == label].groupby(column)['smoothed_log_error']
    means, deviations = same.mean(), same.std()
    # Beside each other, so that no bar hides another.
    shift = 0.06 * (number - (len(labels) - 1) / 2.0)
    axes.errorbar(
        [values.index(float(x)) + shift for x in means.index],
        means,
        yerr=deviations.fillna(0.0),
        color=looks[label].color,
        marker=looks[label].marker,
        markeredgecolor='white',
        markeredgewidth=0.7,
        markersize=7,
        capsize=3,
    )
  figures.finish_axes(axes, title, column.removeprefix('task.'))
  axes.set_xticks(range(len(values)), [f'{value:,g}' for value in values])
  axes.set_ylabel(_AXIS)


def run_times(
    frame: pd.DataFrame, name: str
) -> report_parts.ReportFigure | None:
  """Returns bars of seconds, their phases stacked where they are known."""
  frame = frame[frame['seconds'] > 0.0]
  if not len(frame):
    return None
  looks = styles(frame)
  bars, rows = {}, []
  for label, same in frame.groupby('label', sort=False):
    phases = pd.DataFrame(list(same['phase_seconds'])).mean()
    bars[label] = dict(phases) or {'': float(same['seconds'].mean())}
    told = ', '.join(f'{phase} {x:,.1f}' for phase, x in phases.items())
    seconds = same['seconds']
    rows.append([
        looks[label].label, len(same), float(seconds.mean()),
        tables.deviation(seconds), told or None,
    ])
  names = list(dict.fromkeys(phase for bar in bars.values() for phase in bar))
  names = [phase for phase in names if phase]
  draw = functools.partial(_draw_times, bars=bars, looks=looks, phases=names)
  columns = 'method', 'runs', 'seconds', 'std', 'phases (seconds)'
  return report_parts.ReportFigure(
      name=name,
      title='Run time',
      caption='Seconds of training, mean over all runs of this section; phases'
      ' that methods share are counted for each.',
      panels=[report_parts.Panel('Run time', draw)],
      legend=[_phase_style(names, phase) for phase in names],
      table=report_parts.ReportTable(name, columns, rows, 'Run time.'),
      size=(7.5, 0.8 + 0.42 * len(bars)),
  )


_PHASE_COLORS = (
    '#4e79a7', '#a0cbe8', '#f28e2b', '#59a14f', '#e15759', '#b07aa1',
    '#9c755f', '#bab0ac', '#edc948', '#76b7b2',
)


def _phase_style(phases: list[str], phase: str) -> figures.Style:
  color = _PHASE_COLORS[phases.index(phase) % len(_PHASE_COLORS)]
  return figures.Style(phase, color, 's')


def _draw_times(axes, bars, looks, phases):
  longest = max(sum(bar.values()) for bar in bars.values())
  unit, divisor = ('minutes', 60.0) if longest > 300.0 else ('seconds', 1.0)
  for place, (label, bar) in enumerate(bars.items()):
    left = 0.0
    for phase, seconds in bar.items():
      color = looks[label].color
      if phase:
        color = _phase_style(phases, phase).color
      width = np.nan_to_num(seconds) / divisor
      axes.barh(place, width, left=left, color=color, height=0.65)
      left += width
    axes.text(left, place, f' {left:,.3g}', va='center', fontsize=9)
  axes.set_yticks(range(len(bars)), [looks[label].label for label in bars])
  axes.invert_yaxis()
  axes.set_xlabel(unit)
  axes.margins(x=0.1)
  axes.grid(color='0.9', axis='x')
  axes.set_axisbelow(True)
  axes.spines[['top', 'right', 'left']].set_visible(False)
