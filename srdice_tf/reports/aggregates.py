"""Statistics over tasks and seeds, by rliable: IQM and performance profiles."""

from collections.abc import Mapping
import contextlib
import functools

import numpy as np
import pandas as pd
from rliable import library
from rliable import metrics

from srdice_tf.reports import figures
from srdice_tf.reports import report_parts

_DRAWS = 1000
_SEED = 0
_NUM_THRESHOLDS = 61
ERROR = 'smoothed_log_error'


def scores(frame: pd.DataFrame) -> tuple[dict[str, np.ndarray], str]:
  """Returns the log errors [runs, tasks] of each label, and what they are of.

  Tasks are those that every label has, with two runs or more if there are any:
  a single run has no interval. Of each task and label the first runs
  (seeds, or parts of the data) are taken, as many as all of them have. A run
  that diverged counts as the worst of all.

  Args:
    frame: the tidy table of one group.
  """
  if ERROR not in frame:
    return {}, 'no run has a truth'
  counts = frame.groupby(['label', 'task'], sort=False)['run'].nunique()
  counts = counts.unstack()  # [labels, tasks]
  tasks = list(counts.columns[counts.notna().all()])
  if not tasks:
    return {}, 'no task has all methods'
  least = counts[tasks].min()
  tasks = [task for task in tasks if least[task] > 1] or tasks
  num_runs = int(least[tasks].min())
  errors = frame[ERROR].astype(float)
  finite = errors.where(np.isfinite(errors))
  frame = frame.assign(error=finite.fillna(finite.max()))
  by_cell = dict(list(frame.groupby(['label', 'task'])['error']))
  found = {
      label: np.stack(
          [by_cell[label, task].to_numpy()[:num_runs] for task in tasks], axis=1
      )
      for label in dict.fromkeys(frame['label'])
  }
  said = f'{len(tasks)} task{"s" * (len(tasks) > 1)}, {num_runs} run'
  said += f'{"s" * (num_runs > 1)} each'
  left = sorted({*frame['task']} - {*tasks})
  return found, said + (f'; without {", ".join(left)}' if left else '')


@contextlib.contextmanager
def _seeded():
  """Seeds NumPy's own generator, which rliable draws from."""
  state = np.random.get_state()
  np.random.seed(_SEED)
  try:
    yield
  finally:
    np.random.set_state(state)


def intervals(
    found: Mapping[str, np.ndarray],
) -> dict[str, tuple[float, float | None, float | None]]:
  """Returns the IQM of each label with its 95% stratified bootstrap interval.

  Args:
    found: of `scores`. A single seed has no interval.
  """
  iqm = lambda x: np.array([metrics.aggregate_iqm(x)])
  if next(iter(found.values())).shape[0] < 2:
    return {label: (float(iqm(x)[0]), None, None) for label, x in found.items()}
  with _seeded():
    points, bounds = library.get_interval_estimates(found, iqm, reps=_DRAWS)
  return {
      label: (float(points[label][0]), *map(float, bounds[label][:, 0]))
      for label in found
  }


def iqm_figure(
    frame: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportFigure | None:
  """Returns the IQM of each method as a bar; None if nothing is comparable."""
  found, said = scores(frame)
  if not found:
    return None
  told = intervals(found)
  rows = [[looks[label].label, *told[label]] for label in told]
  draw = functools.partial(_draw_iqm, told=told, looks=looks)
  columns = 'method', 'IQM of log error', 'low 95%', 'high 95%'
  return report_parts.ReportFigure(
      name=name,
      title='Interquartile mean over tasks and runs',
      caption='Interquartile mean of the log error at the end of training over'
      f' {said}; bars are 95% intervals by stratified bootstrap (rliable,'
      f' {_DRAWS:,} draws). A run that diverged counts as the worst one.',
      panels=[report_parts.Panel('Interquartile mean', draw)],
      table=report_parts.ReportTable(name, columns, rows, 'IQM of log error.'),
      size=(6.4, 1.0 + 0.38 * len(told)),
  )


def _draw_iqm(axes, told, looks):
  for place, (label, (point, low, high)) in enumerate(told.items()):
    color = looks[label].color
    if low is not None:
      axes.barh(
          place, high - low, left=low, color=color, alpha=0.35, height=0.6
      )
    axes.plot([point] * 2, [place - 0.3, place + 0.3], color=color, lw=2.5)
  axes.set_yticks(range(len(told)), [looks[label].label for label in told])
  axes.invert_yaxis()
  axes.set_xlabel('log error, lower is better')
  axes.margins(x=0.08)
  axes.grid(color='0.9', axis='x')
  axes.set_axisbelow(True)
  axes.spines[['top', 'right', 'left']].set_visible(False)


def profile_figure(
    frame: pd.DataFrame, looks: Mapping[str, figures.Style], name: str
) -> report_parts.ReportFigure | None:
  """Returns the share of runs below each log error; None for one task."""
  found, said = scores(frame)
  if not found or next(iter(found.values())).shape[1] < 2:
    return None
  everything = np.concatenate([x.ravel() for x in found.values()])
  taus = np.linspace(everything.min(), everything.max(), _NUM_THRESHOLDS)
  # rliable's own profile is the share above, one threshold at a time.
  profile = lambda x: (x[..., None] <= taus).mean(axis=(0, 1))  # [taus]
  with _seeded():
    shares, bounds = library.get_interval_estimates(found, profile, reps=_DRAWS)
  draw = functools.partial(
      _draw_profile, taus=taus, shares=shares, bounds=bounds, looks=looks
  )
  rows = [
      [float(tau), *(float(shares[label][i]) for label in shares)]
      for i, tau in enumerate(taus)
  ]
  columns = ['log error', *(looks[label].label for label in shares)]
  return report_parts.ReportFigure(
      name=name,
      title='Performance profiles over tasks and runs',
      caption='Share of runs whose log error is at most the one on the axis,'
      f' over {said}; higher and further left is better, the shade is the 95%'
      ' interval by stratified bootstrap (rliable).',
      panels=[report_parts.Panel('Performance profiles', draw)],
      legend=[looks[label] for label in shares],
      table=report_parts.ReportTable(name, columns, rows, 'Profiles.'),
      size=(6.4, 3.4),
  )


def _draw_profile(axes, taus, shares, bounds, looks):
  for label, share in shares.items():
    color = looks[label].color
    axes.plot(
        taus, share, color=color, marker=looks[label].marker,
        markevery=max(1, len(taus) // 10), markeredgecolor='white',
    )
    axes.fill_between(taus, *bounds[label], color=color, alpha=0.15, lw=0)
  axes.set_xlabel('log error')
  axes.set_ylabel('share of runs below')
  axes.set_ylim(-0.03, 1.03)
  axes.margins(x=0.02)
  axes.grid(color='0.9')
  axes.set_axisbelow(True)
  axes.spines[['top', 'right']].set_visible(False)
