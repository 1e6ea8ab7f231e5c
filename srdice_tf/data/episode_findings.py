"""Checks of how logged data are cut into episodes."""

from collections.abc import Iterator
import hashlib

import numpy as np

from srdice_tf.data import finding
from srdice_tf.data import numpy_view

_Findings = Iterator[finding.DataFinding]

# Steps of an episode: people choose such time limits, tasks seldom end there.
_ROUND, _MIN_LIMIT = 50, 50
_MIN_LIMITED = 2  # Episodes of one same length that make it a time limit.
_LIMIT_SHARE = 0.05  # Of the terminal ones, if others end before.
_ODD_LIMIT_SHARE = 0.2  # Likewise, if the limit is no number people choose.
_FEW_STARTS, _FEW_EPISODES = 10, 30
# A step whose columns change so many times as much as 99% of the steps do, in
# the root mean square. Where the ends of MuJoCo's episodes are not marked it is
# above 3 (Hopper, Walker2d), at real steps below 2.
_JUMP = 3.0
_MIN_STEPS = 100  # For quantiles of steps.
_DUPLICATE_SHARE = 0.01
_ODD = np.uint64(0x9E3779B97F4A7C15)  # Of a hash; any such number does.


def time_limit(
    view: numpy_view.NumpyView, limit: int | None = None
) -> _Findings:
  """Terminal flags that are time limits.

  An episode that was cut goes on after its last state; a terminal flag there
  says that nothing follows, and takes from the value of all states before.

  Args:
    view: the data.
    limit: the environment's own time limit, if it is known.
  """
  lengths = view.lengths[view.terminal]
  if lengths.size < _MIN_LIMITED:
    return
  longest = lengths.max()
  at_limit = lengths == longest
  count = int(at_limit.sum())
  is_alone = at_limit.all() and longest > 1
  # Cut episodes of that length show that flags and limits are told apart; their
  # last step may have been left out, for want of what it led to.
  was_cut = (view.lengths[~view.terminal] >= longest - 1).any()
  if count < _MIN_LIMITED or was_cut:
    return
  is_round = longest >= _MIN_LIMIT and longest % _ROUND == 0
  if not (is_alone or longest == limit):
    # The longest is shared by more than any other length is.
    _, counts = np.unique(lengths[~at_limit], return_counts=True)
    is_peak = count > 2 * counts.max(initial=0)
    share = _LIMIT_SHARE if is_round else _ODD_LIMIT_SHARE
    if not is_peak or count < share * lengths.size:
      return
  rows = view.ends[view.terminal][at_limit]
  who = f'all {count:,}' if at_limit.all() else f'{count:,} of {len(lengths):,}'
  text = (
      f'{who} episodes that end in a terminal state do so after {longest:,}'
      ' steps'
  )
  if longest == limit or is_round or longest >= _MIN_LIMIT:
    yield finding.error(
        'time_limit',
        f'{text}: a time limit is no terminal state, and takes from all values;'
        ' log it as a timeout (truncation)',
        rows,
    )
  else:
    yield finding.warning(
        'time_limit',
        f'{text}: if that is a time limit, it is no terminal state',
    )


def terminal_states(view: numpy_view.NumpyView) -> _Findings:
  """No terminal state at all, though episodes have ends of their own."""
  if view.terminal.any() or view.num_episodes < _FEW_STARTS:
    return
  # All but the last, which ends with the log.
  _, counts = np.unique(view.lengths[:-1], return_counts=True)
  if counts.max() < view.num_episodes / 2:
    yield finding.warning(
        'no_terminals',
        'no step is terminal, though episodes have many different lengths: if'
        ' they end, the flags are missing',
    )


def start_states(view: numpy_view.NumpyView) -> _Findings:
  """Too few start states, or start states that are none."""
  count = view.num_episodes
  if count == 1:
    yield finding.error(
        'start_states',
        'there is one episode: a value is that of start states, of which there'
        ' is one; mark where episodes end',
    )
    return
  if count < _FEW_STARTS:
    yield finding.warning(
        'start_states',
        f'{count} episodes: the start states of the task are hardly known',
    )
  if count < _FEW_EPISODES:
    yield finding.warning(
        'few_episodes',
        f'{count} episodes: intervals, which draw whole episodes, are rough',
    )


def pieces(view: numpy_view.NumpyView) -> _Findings:
  """Episodes that begin where the one before was cut."""
  if not view.has_numbers or view.num_episodes < 3:
    return
  was_cut = ~view.terminal[:-1]
  last = view.positions[view.ends[:-1]] + 1
  rows, starts = view.columns, view.starts[1:]
  same = was_cut & (rows[last] == rows[starts]).all(axis=1)
  # Tasks may always begin in the same state, and end where they began.
  same &= ~(rows[starts] == rows[view.starts[:-1]]).all(axis=1)
  if same.mean() > 0.5:
    yield finding.error(
        'pieces',
        f'{int(same.sum()):,} of {view.num_episodes:,} episodes begin in the'
        ' last state of the one before: pieces of longer episodes, whose first'
        ' states are no start states',
        view.begins[1:][same],
    )
  elif was_cut.mean() > 0.5 and _goes_on(view, last[was_cut], starts[was_cut]):
    yield finding.warning(
        'pieces',
        'most episodes begin close to where the one before was cut: if they are'
        ' pieces of longer ones, their first states are no start states',
    )


def _goes_on(view, last: np.ndarray, starts: np.ndarray) -> bool:
  """Returns whether rows `starts` [K] seem to be a step after rows `last`."""
  if view.size < _MIN_STEPS:
    return False
  rng = np.random.default_rng(0)
  scale = view.columns.std(axis=0, dtype=np.float64)
  scale[scale == 0] = 1.0

  def distances(rows, others):
    difference = (view.columns[rows] - view.columns[others]) / scale
    return np.sqrt(np.square(difference).mean(axis=1))

  steps = rng.choice(view.positions, min(view.size, 10_000), replace=False)
  inside = distances(steps, steps + 1)
  chance = np.median(distances(steps, rng.permutation(steps)))
  # Where states have nothing to do with those before, nothing can be said.
  is_slow = np.quantile(inside, 0.95) < 0.5 * chance
  return is_slow and np.median(distances(last, starts)) <= np.quantile(
      inside, 0.95
  )


def jumps(view: numpy_view.NumpyView) -> _Findings:
  """Steps at which observations do not go on from those before."""
  if not view.has_numbers or view.size < _MIN_STEPS:
    return
  squares, count = np.zeros(view.size), 0
  for column in view.columns.T:  # One at a time: data are large.
    change = np.abs(
        column[view.positions + 1].astype(np.float64) - column[view.positions]
    )
    usual = np.quantile(change, 0.99)
    if usual > 0:
      squares += np.square(change / usual)
      count += 1
  wrong = np.sqrt(squares / max(count, 1)) > _JUMP
  if wrong.any():
    yield finding.warning(
        'jumps',
        f'observations jump, by over {_JUMP:g} times what 99% of the steps'
        ' change: ends of episodes may not be marked, or steps be missing',
        np.flatnonzero(wrong),
    )


def short_episodes(view: numpy_view.NumpyView) -> _Findings:
  """Episodes of one step."""
  short = view.lengths == 1
  if short.all() and view.num_episodes > 1:
    yield finding.warning(
        'one_step', 'all episodes have one step: nothing follows an action'
    )
  elif short.any() and view.num_episodes > 1:
    yield finding.warning(
        'one_step',
        f'{int(short.sum()):,} of {view.num_episodes:,} episodes have one step',
        view.begins[short],
    )


def duplicates(view: numpy_view.NumpyView) -> _Findings:
  """Episodes, or single steps, that are there more than once."""
  repeated = _repeated_episodes(view)
  if repeated.any():
    rows = view.begins[repeated]
    text = (
        f'{len(rows):,} of {view.num_episodes:,} episodes are there before, the'
        ' same in each number: they count twice, and intervals are too narrow'
    )
    # Continuous actions are not the same by chance.
    is_chance = view.is_discrete or repeated.mean() < _DUPLICATE_SHARE
    report = finding.warning if is_chance else finding.error
    yield report('duplicate_episodes', text, rows)
  if view.has_numbers and not view.is_discrete:
    of_repeated = np.repeat(repeated, view.lengths)
    rows = np.flatnonzero(_repeated_steps(view) & ~of_repeated)
    if rows.size:
      yield finding.warning(
          'duplicate_rows',
          f'{rows.size:,} steps are there before, the same in each number',
          rows,
      )


def _repeated_episodes(view) -> np.ndarray:
  """Returns [m], whether an episode of two or more steps was there before."""
  seen, repeated = set(), np.zeros(view.num_episodes, bool)
  for i, (begin, end) in enumerate(zip(view.begins, view.ends)):
    if begin == end:
      continue  # One step may well be seen twice.
    steps = slice(begin, end + 1)
    digest = hashlib.blake2b(view.actions[steps].tobytes(), digest_size=16)
    digest.update(view.rewards[steps].tobytes())
    rows = slice(view.positions[begin], view.positions[end] + 2)
    digest.update(np.ascontiguousarray(view.rows[rows]).data)
    repeated[i] = digest.digest() in seen
    seen.add(digest.digest())
  return repeated


def _repeated_steps(view) -> np.ndarray:
  """Returns [n], whether (s, a, r) was there before, judged by a hash."""
  states = (column[view.positions] for column in view.columns.T)
  hashed = np.zeros(view.size, np.uint64)
  for column in (*view.action_columns.T, view.rewards, *states):
    bits = np.ascontiguousarray(column, np.float32).view(np.uint32)
    hashed = (hashed ^ bits) * _ODD
    hashed ^= hashed >> np.uint64(29)
  _, first = np.unique(hashed, return_index=True)
  repeated = np.ones(view.size, bool)
  repeated[first] = False
  return repeated


CHECKS = (
    terminal_states,
    start_states,
    pieces,
    jumps,
    short_episodes,
    duplicates,
)
