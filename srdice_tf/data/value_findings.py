"""Checks of the numbers in logged data: observations, actions, rewards."""

from collections.abc import Iterator

import numpy as np

from srdice_tf.data import finding
from srdice_tf.data import numpy_view

_Findings = Iterator[finding.DataFinding]

# Rewards that are this many times as far from the median as 98% of them are
# spread, and are this rare, look like those of another scale.
_OUTLIER_SPREADS = 20.0
_OUTLIER_SHARE = 0.01
_OUTSIDE = 1e-3  # Of the range of actions; less is rounding.
_AT_BOUNDS_SHARE = 0.25  # Of actions at a bound that is worth a word.
# Rewards of first or last steps that are all 0 where this share is not.
_NONZERO_SHARE = 0.9
_MIN_EPISODES = 3  # For what is said of all first or all last steps.
_SHOWN_COLUMNS = 8


def not_finite(view: numpy_view.NumpyView) -> _Findings:
  """NaN and infinite numbers."""
  columns = {
      'observations': view.columns if view.has_numbers else None,
      'actions': None if view.is_discrete else view.action_columns,
      'rewards': view.rewards,
      'log_probabilities': view.log_probabilities,
  }
  for name, values in columns.items():
    if values is None:
      continue
    wrong = ~np.isfinite(values)
    count = int(wrong.sum())
    if not count:
      continue
    rows = np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))
    if name == 'observations':
      rows = view.transitions_at(rows)
    text = f'{count:,} values of {name} are NaN or infinite'
    if name == 'rewards' and np.isin(rows, view.ends).all():
      text += ', all of them at the last steps of episodes'
    yield finding.error('not_finite', text, rows)


def flags(view: numpy_view.NumpyView) -> _Findings:
  """Terminal flags that are no flags, or after which an episode goes on."""
  wrong = np.flatnonzero(~np.isin(view.not_done, (0.0, 1.0)))
  if wrong.size:
    yield finding.error(
        'flags',
        f'a terminal flag is {1 - view.not_done[wrong[0]]:g}: they are 0 or 1',
        wrong,
    )
  is_end = np.zeros(view.size, bool)
  is_end[view.ends] = True
  after = np.flatnonzero((view.not_done == 0) & ~is_end)
  if after.size:
    yield finding.error(
        'flags', 'the episode goes on after a terminal step', after
    )


def constant_columns(view: numpy_view.NumpyView) -> _Findings:
  """Numbers that are the same at all steps."""
  if view.has_numbers and len(view.rows) > 2:
    constant = _constant(view.columns)
    if constant.size:
      yield finding.warning(
          'constant_columns',
          f'observations: {_named(constant, view.columns)}; such columns tell'
          ' no states apart',
      )
  constant = _constant(view.action_columns) if view.size > 1 else np.empty(0)
  if constant.size:
    yield finding.warning(
        'constant_columns',
        f'actions: {_named(constant, view.action_columns)}; what other actions'
        ' would do is not in the data',
    )


def _constant(values: np.ndarray) -> np.ndarray:
  """Returns the columns of [N, D] that never change."""
  return np.flatnonzero(values.min(axis=0) == values.max(axis=0))


def _named(constant: np.ndarray, values: np.ndarray) -> str:
  if values.shape[1] == 1:
    return f'always {values[0, 0]:.4g}'
  shown = ', '.join(
      f'column {j} is always {values[0, j]:.4g}'
      for j in constant[:_SHOWN_COLUMNS]
  )
  more = len(constant) - _SHOWN_COLUMNS
  return f'{shown} and {more} other columns never change' if more > 0 else shown


def action_range(view: numpy_view.NumpyView) -> _Findings:
  """Actions outside of their bounds, or at them; discrete ones not taken."""
  if view.action_spec is None:
    return
  low, high = view.action_spec.minimum, view.action_spec.maximum
  if view.is_discrete:
    yield from _discrete_range(view, int(low), int(high))
  elif view.bounds_known:
    shape = view.action_columns.shape[1:]
    low, high = (np.broadcast_to(x, shape).ravel() for x in (low, high))
    bounded = np.isfinite(low) & np.isfinite(high)  # [A]
    if bounded.any():
      actions = view.action_columns[:, bounded]
      yield from _continuous_range(actions, low[bounded], high[bounded])


def _discrete_range(view, low: int, high: int) -> _Findings:
  outside = np.flatnonzero((view.actions < low) | (view.actions > high))
  if outside.size:
    yield finding.error(
        'action_range',
        f'action {view.actions[outside[0]]} is not one of {low} to {high}',
        outside,
    )
  never = np.setdiff1d(np.arange(low, high + 1), view.actions)
  if never.size:
    shown = ', '.join(map(str, never[:_SHOWN_COLUMNS]))
    more = ', ...' if len(never) > _SHOWN_COLUMNS else ''
    yield finding.warning(
        'actions_not_taken',
        f'{len(never)} of {high - low + 1} actions are never taken ({shown}'
        f'{more}): what they would do is not in the data',
    )


def _continuous_range(actions, low, high) -> _Findings:
  excess = np.maximum(low - actions, actions - high)  # [n, A]
  outside = (excess > _OUTSIDE * (high - low)).any(axis=1)
  if outside.any():
    yield finding.error(
        'action_range',
        f'{finding.share_text(outside.mean())} of the actions are outside of'
        f' their bounds, by up to {excess.max():.4g}; if what was logged is'
        ' from before a clip, log what was done',
        np.flatnonzero(outside),
    )
  # One that is clipped is at its bound exactly, or was before a conversion.
  at_bound = (np.abs(excess) <= 1e-6 * (high - low)).any(axis=1)
  if at_bound.mean() >= _AT_BOUNDS_SHARE:
    yield finding.warning(
        'actions_at_bounds',
        f'{finding.share_text(at_bound.mean())} of the actions are at a bound',
    )


def rewards(view: numpy_view.NumpyView) -> _Findings:
  """Rewards without information, of another scale, or at wrong steps."""
  values = view.finite_rewards
  if not values.any():
    yield finding.error(
        'no_rewards', 'all rewards are 0: every policy would be worth 0'
    )
    return
  if values.min() == values.max():
    yield finding.warning(
        'constant_rewards',
        f'all rewards are {values[0]:.4g}'
        + ('' if view.terminal.any() else ': every policy is worth the same'),
    )
    return
  yield from _outliers(values)
  yield from _edge_rewards(view)


def _outliers(values: np.ndarray) -> _Findings:
  low, middle, high = np.quantile(values, [0.01, 0.5, 0.99])
  distance = np.abs(values - middle)
  far = distance > _OUTLIER_SPREADS * (high - low)
  if high > low and far.any() and far.mean() < _OUTLIER_SHARE:
    yield finding.warning(
        'reward_outliers',
        f'rewards up to {values[np.argmax(distance)]:.4g}, where 98% of them'
        f' are from {low:.4g} to {high:.4g}: of another scale, or a code for a'
        ' missing one',
        np.flatnonzero(far),
    )


def _edge_rewards(view) -> _Findings:
  """First or terminal steps that all have no reward, where others have."""
  edges = {
      'terminal': view.ends[view.terminal],
      'first': view.begins,
  }
  for name, at in edges.items():
    others = np.ones(view.size, bool)
    others[at] = False
    is_zero = len(at) >= _MIN_EPISODES and not view.finite_rewards[at].any()
    if not is_zero or not others.any():
      continue
    share = np.mean(view.finite_rewards[others] != 0)
    if share >= _NONZERO_SHARE:
      yield finding.warning(
          f'{name}_rewards',
          f'all {name} steps have the reward 0, {finding.share_text(share)} of'
          ' the others do not: a reward belongs to the step whose action earned'
          ' it, also the last one',
          at,
      )


def log_probabilities(view: numpy_view.NumpyView) -> _Findings:
  """Logarithms of discrete actions' probabilities that are none."""
  if view.log_probabilities is None or not view.is_discrete:
    return
  wrong = np.flatnonzero(view.log_probabilities > 1e-5)
  if wrong.size:
    yield finding.error(
        'log_probabilities',
        'the log-probability of a discrete action is'
        f' {view.log_probabilities[wrong[0]]:.4g}: expected at most 0 (are they'
        ' probabilities?)',
        wrong,
    )


CHECKS = (
    not_finite,
    flags,
    rewards,
    action_range,
    log_probabilities,
    constant_columns,
)
