"""Learning curves in the manner of the paper's figures."""

from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import NamedTuple

from matplotlib import figure
from matplotlib import ticker
import numpy as np

from srdice_tf.evaluation import log_error


class Style(NamedTuple):
  """How a method looks in every picture."""

  label: str
  color: str
  marker: str


_STYLES = {
    'srdice': Style('SR-DICE', 'tab:blue', 'o'),
    'srdiceclosed': Style('SR-DICE, closed form', 'navy', 'd'),
    'linearsrdice': Style('linear SR-DICE', 'tab:cyan', 'D'),
    'srdicelstd': Style('SR-DICE, LSTD', 'tab:brown', 'v'),
    'dualdice': Style('DualDICE', 'tab:orange', 's'),
    'gradientdice': Style('GradientDICE', 'tab:green', 'P'),
    'deepsr': Style('Deep SR', 'tab:red', '^'),
    'deeptd': Style('Deep TD', 'tab:purple', 'X'),
    'dr': Style('doubly robust', 'tab:pink', '*'),
}
_OTHER_COLORS = (
    'tab:olive', 'tab:gray', 'goldenrod', 'teal', 'crimson', 'slateblue',
    'yellowgreen', 'deeppink', 'sienna',
)
_OTHER_MARKERS = ('D', '<', '>', 'p')
_NUM_MARKERS = 10  # On a curve: every 25k of 250k updates, as in the paper.


def plot_curves(
    path: str,
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    behaviour_log_error: float | None,
    title: str,
    smoothing: int = 0,
    values: Mapping[str, tuple] | None = None,
    truth: tuple[float, float] | None = None,
) -> None:
  """Draws the log error over updates of several methods into a file.

  The line of a method with several seeds is their mean, the shade around it
  one standard deviation. What is not finite is a gap, and so is the mean over
  seeds of which one is not finite; a curve that ends in a gap says so.

  Args:
    path: of the picture, which appears whole or not at all; its extension is
      its format.
    curves: of each method the updates, [evaluations], and the log errors,
      [evaluations] or [seeds, evaluations], not smoothed. Methods of the
      paper have the paper's colours and markers.
    behaviour_log_error: error of the behaviour policy's value, if known.
    title: above the axes.
    smoothing: the number of evaluations that a point is the mean of; 0 for the
      paper's.
    values: of each method the updates, the estimates and the 95% interval or
      None; drawn below the errors, the interval as a band.
    truth: the true value and its standard error: the value is drawn with the
      estimates, the log error that its own error allows with the errors.
  """
  num_rows = 2 if values else 1
  picture = figure.Figure(
      figsize=(7.5, 1.0 + 3.0 * num_rows), dpi=150, layout='constrained'
  )
  axes, *below = picture.subplots(num_rows, squeeze=False)[:, 0]
  draw_methods(axes, curves, smoothing)
  if values:
    _plot_values(below[0], values, truth)
  if behaviour_log_error is not None and np.isfinite(behaviour_log_error):
    label = r'behaviour $R(\pi_b)$'
    axes.axhline(behaviour_log_error, color='black', ls='--', label=label)
  allowed = truth and log_error.allowed(truth[1])
  if allowed is not None:
    label = "truth's own error"
    axes.axhline(allowed, color='0.4', ls=':', label=label)
  axes.set_ylabel('log error (log MSE)')
  finish_axes(axes, title)
  if axes.get_legend_handles_labels()[0]:
    picture.legend(loc='outside right upper', frameon=False)
  _save(picture, path)


def plot_estimates(
    path: str, values: Mapping[str, tuple], title: str
) -> None:
  """Draws the estimates of several methods, where there is no truth.

  Args:
    path: of the picture, which appears whole or not at all.
    values: of each method the updates, the estimates and the 95% interval or
      None.
    title: above the axes.
  """
  picture = figure.Figure(figsize=(7.5, 4.0), dpi=150, layout='constrained')
  axes = picture.subplots()
  _plot_values(axes, values, truth=None, title=title)
  picture.legend(loc='outside right upper', frameon=False)
  _save(picture, path)


def plot_panels(
    path: str,
    panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]],
    label: str,
    smoothing: int = 1,
) -> None:
  """Draws panels side by side, with the same methods in each.

  Args:
    path: of the picture, which appears whole or not at all.
    panels: by title, the curves as for `plot_curves`.
    label: of the vertical axes.
    smoothing: the number of evaluations that a point is the mean of.
  """
  size = (3.2 * len(panels), 3.4)
  picture = figure.Figure(figsize=size, dpi=90, layout='constrained')
  all_axes = picture.subplots(1, len(panels), squeeze=False)[0]
  for axes, (title, curves) in zip(all_axes, panels.items()):
    draw_methods(axes, curves, smoothing)
    finish_axes(axes, title)
  all_axes[0].set_ylabel(label)
  handles, labels = all_axes[0].get_legend_handles_labels()
  picture.legend(
      handles, labels, loc='outside lower center', ncols=4, frameon=False
  )
  _save(picture, path)


def plot_returns(path: str, points: Sequence[Mapping], title: str) -> None:
  """Draws the learning curve of an agent into a file.

  Args:
    path: of the picture, which appears whole or not at all.
    points: with 'step', 'mean_return' and 'std_return', in their order; the
      deviation over episodes is the shade.
    title: above the axes.
  """
  picture = figure.Figure(figsize=(6.0, 3.6), dpi=120, layout='constrained')
  axes = picture.subplots()
  steps, means, deviations = (
      np.array([point[name] for point in points])
      for name in ('step', 'mean_return', 'std_return')
  )
  axes.plot(steps, means, color='tab:blue', marker='.')
  axes.fill_between(
      steps, means - deviations, means + deviations, color='tab:blue',
      alpha=0.2, linewidth=0,
  )
  axes.set_ylabel('return')
  finish_axes(axes, title, 'steps in the environment (thousands)')
  _save(picture, path)


def draw_methods(
    axes,
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    smoothing: int,
    styles: Mapping[str, Style] | None = None,
) -> None:
  """Draws a curve of each method, with its deviation over seeds.

  Args:
    axes: to draw on.
    curves: as for `plot_curves`.
    smoothing: the number of evaluations that a point is the mean of.
    styles: of each method; None for those of `styles_of`.
  """
  styles = styles or styles_of(list(curves))
  for index, (method, (steps, errors)) in enumerate(curves.items()):
    errors = log_error.smooth(np.atleast_2d(errors), smoothing)  # [S, T]
    offset = index / len(curves)
    _plot_curve(axes, styles[method], np.asarray(steps), errors, offset)


def finish_axes(axes, title: str, label: str = 'updates (thousands)') -> None:
  """Sets title, grid and the ticks of the updates."""
  axes.set_title(title)
  axes.set_xlabel(label)
  axes.xaxis.set_major_formatter(
      ticker.FuncFormatter(lambda step, _: f'{step / 1000:g}')
  )
  axes.margins(x=0.02)
  if not np.isfinite(axes.dataLim.intervalx).all():
    axes.set_xticks([])  # Closed forms only, or single points: no updates.
  axes.grid(color='0.9')
  axes.set_axisbelow(True)
  axes.spines[['top', 'right']].set_visible(False)


def _plot_values(
    axes, values: Mapping[str, tuple], truth, title: str = ''
) -> None:
  """Draws the estimates, with their intervals as bands, around the truth.

  With a title the axes stand alone and name the methods.
  """
  styles, shown = styles_of(list(values)), []
  for method, (steps, estimates, interval) in values.items():
    style = styles[method]
    label = style.label if title else None
    estimates = np.where(np.isfinite(estimates), estimates, np.nan)
    if len(steps) == 1:  # A closed form: no updates, one estimate.
      axes.axhline(estimates[0], color=style.color, ls='-.', label=label)
    else:
      axes.plot(steps, estimates, color=style.color, label=label)
    if interval is not None:
      axes.axhspan(*interval, color=style.color, alpha=0.15, linewidth=0)
      shown += list(interval)
    shown.append(estimates[-1])
  if truth is not None:
    value, error = truth
    axes.axhline(value, color='black', label=r'truth $R(\pi)$')
    shown += [value - 2.0 * error, value + 2.0 * error]
  shown = [number for number in shown if np.isfinite(number)]
  if shown and max(shown) > min(shown):
    # What is learned first may be far off: the end is what is looked at.
    margin = 0.5 * (max(shown) - min(shown))
    axes.set_ylim(min(shown) - margin, max(shown) + margin)
  axes.set_ylabel('estimate, 95% interval')
  finish_axes(axes, title)


def _plot_curve(
    axes, style: Style, steps: np.ndarray, errors: np.ndarray, offset: float
) -> None:
  """Draws one method.

  Args:
    axes: to draw on.
    style: of the method.
    steps: [T].
    errors: [S, T], smoothed.
    offset: of the first marker, as a share of the distance between markers, so
      that those of curves that lie on each other do not hide each other.
  """
  errors = np.where(np.isfinite(errors), errors, np.nan)
  mean = errors.mean(axis=0)  # [T]
  if len(steps) == 1:  # A closed form: no updates, one error.
    axes.axhline(mean[0], color=style.color, ls='-.', label=style.label)
    return
  every = max(1, len(steps) // _NUM_MARKERS)
  ends_in_gap = len(mean) and np.isnan(mean[-1])
  axes.plot(
      steps,
      mean,
      color=style.color,
      marker=style.marker,
      markersize=7,
      markeredgecolor='white',
      markeredgewidth=0.7,
      markevery=(int(offset * every), every),
      label=f'{style.label} (diverged)' if ends_in_gap else style.label,
  )
  if len(errors) > 1:
    std = errors.std(axis=0, ddof=1)  # [T]
    axes.fill_between(
        steps, mean - std, mean + std, color=style.color, alpha=0.2, linewidth=0
    )


def rank(method: str) -> int:
  """Returns a method's place in legends: the paper's first, then all others."""
  names = list(_STYLES)
  name = ''.join(filter(str.isalnum, method)).lower()
  return names.index(name) if name in names else len(names)


def styles_of(methods: list[str]) -> dict[str, Style]:
  """Returns a style for each method, told by its letters and digits."""
  styles = {}
  for method in methods:
    name = ''.join(filter(str.isalnum, method)).lower()
    number = len(set(styles.values()) - set(_STYLES.values()))
    other = Style(
        method,
        _OTHER_COLORS[number % len(_OTHER_COLORS)],
        _OTHER_MARKERS[number % len(_OTHER_MARKERS)],
    )
    styles[method] = _STYLES.get(name, other)
  return styles


def _save(picture: figure.Figure, path: str) -> None:
  """Writes the picture; without pyplot no screen is needed, or looked for."""
  extension = os.path.splitext(path)[1]
  temporary = f'{path}.tmp{extension}'
  picture.savefig(temporary)
  os.replace(temporary, path)
