"""What `check_data.py` prints about logged data."""

import math
import shlex
import textwrap

from srdice_tf import commands
from srdice_tf.reports import tables

WIDTH = 100
_SHOWN_COLUMNS = 16  # Of observations, and of actions.
_INDENT = ' ' * 14


def text(found) -> str:
  """Returns the whole report, no line wider than 100 columns.

  Args:
    found: what an experiments.data_check.DataCheck has.
  """
  parts = [
      _heading(found),
      _spreads(found.summary),
      _counts(found.summary),
      _bullets('notes', found.notes),
      _findings(found, 'error'),
      _findings(found, 'warning'),
      _end(found),
  ]
  return '\n\n'.join(filter(None, parts))


def _line(name: str, value: str) -> str:
  return textwrap.fill(
      value,
      WIDTH,
      initial_indent=f'{name:14}',
      subsequent_indent=_INDENT,
      break_on_hyphens=False,
  )


def _heading(found) -> str:
  summary = found.summary
  cut = summary.num_episodes - summary.num_terminal
  actions = summary.actions
  if not summary.action_counts:
    whose = found.request.env_id or 'the source'
    if not found.bounds_known:
      whose = 'the logged actions'
    actions += f', bounds of {whose}'
  known = 'logged' if summary.has_log_probabilities else 'not logged'
  return '\n'.join([
      _line('data', found.request.data),
      _line(
          'transitions',
          f'{summary.num_transitions:,} in {summary.num_episodes:,} episodes:'
          f' {summary.num_terminal:,} end in a terminal state, {cut:,} are cut',
      ),
      _line('observations', summary.observations),
      _line('actions', f'{actions}; their probabilities are {known}'),
  ])


def _spreads(summary) -> str:
  """Returns the table of ranges; of many columns the first ones."""
  rows = [_row(each) for each in summary.episodes]
  kinds, last = {}, []
  for each in summary.columns:
    kinds.setdefault(each.name.partition(' ')[0], []).append(each)
  for kind, each in kinds.items():
    rows += map(_row, each[:_SHOWN_COLUMNS])
    if len(each) > _SHOWN_COLUMNS:
      rest = each[_SHOWN_COLUMNS:]
      low = tables.cell_text(min(one.smallest for one in rest))
      high = tables.cell_text(max(one.largest for one in rest))
      last.append(f'and {len(rest):,} more columns of {kind}s, {low} to {high}')
  columns = ['', 'smallest', 'mean', 'largest', 'std', '']
  if not any(row[-1] for row in rows):
    columns, rows = columns[:-1], [row[:-1] for row in rows]
  return '\n'.join([tables.format_table(columns, rows), *last])


def _row(spread) -> list:
  values = (
      spread.smallest, spread.mean, spread.largest, spread.deviation
  )
  values = [value if math.isfinite(value) else None for value in values]
  return [spread.name, *values, 'constant' if spread.is_constant else '']


def _counts(summary) -> str:
  """Returns how often discrete actions were taken."""
  if not summary.action_counts:
    return ''
  total = sum(summary.action_counts)
  rows = [
      [f'action {action}', count, f'{count / total:.1%}']
      for action, count in enumerate(summary.action_counts[:_SHOWN_COLUMNS])
  ]
  lines = [tables.format_table(('', 'times', 'share'), rows)]
  more = len(summary.action_counts) - _SHOWN_COLUMNS
  if more > 0:
    lines.append(f'and {more:,} more actions')
  return '\n'.join(lines)


def _bullets(title: str, items) -> str:
  if not items:
    return ''
  return '\n'.join([
      title,
      *(
          textwrap.fill(
              item,
              WIDTH,
              initial_indent='  - ',
              subsequent_indent='    ',
              break_on_hyphens=False,
          )
          for item in items
      ),
  ])


def _findings(found, severity: str) -> str:
  chosen = [each for each in found.findings if each.severity == severity]
  return _bullets(
      f'{severity}s', [f'{each.name}: {each.line()}' for each in chosen]
  )


def _end(found) -> str:
  """Returns what the policy has in the data, the result and what is next."""
  lines = []
  if found.action_support is not None:
    lines.append(_line('policy', _support(found.action_support)))
  warnings = len(found.findings) - found.num_errors
  numbers = _number(found.num_errors, 'error'), _number(warnings, 'warning')
  result = ', '.join(numbers)
  if found.num_errors:
    result += ': an evaluation of these data would be wrong'
  lines.append(_line('result', result))
  lines.append(_next(found))
  return '\n'.join(lines)


def _support(found) -> str:
  """Returns what an evaluation.support.ActionSupport has found."""
  text = (
      f'{found.far_share:.1%} of its actions at {found.num_queries:,} logged'
      f' states are far from any logged one ({found.logged_share:.1%} of the'
      ' logged ones are)'
  )
  if found.distance_ratio is None:
    return text
  return (
      f'{text}; the nearest is {found.distance_ratio:.2f} times as far as for'
      ' logged ones'
  )


def _number(count: int, name: str) -> str:
  return f'{count or "no"} {name}{"" if count == 1 else "s"}'


def _next(found) -> str:
  """Returns what to do, if it is a command one that can be copied."""
  if found.num_errors:
    advice = 'correct what is listed under errors and check again'
    if found.acceptable:
      names = ','.join(found.acceptable)
      advice += f'; if the data are right there, add --accept={names}'
    return _line('next', advice)
  request = found.request
  values = {
      'data': request.data,
      'columns': request.columns,
      'env': request.env_id,
      'policy': request.policy,
      'accept': request.accept,
  }
  words = [
      f'--{name}={shlex.quote(value)}'
      for name, value in values.items()
      if value
  ]
  if request.policy:
    words = [commands.name('run_ope'), *words, '--algo=srdice']
  else:
    words = [commands.name('check_data'), *words, '--policy=...']
  return f'{"next":14}{_command(words)}'


def _command(words: list[str]) -> str:
  """Returns words in lines that a shell takes for one."""
  lines = [words[0]]
  for word in words[1:]:
    if len(_INDENT) + len(lines[-1]) + len(word) + 3 > WIDTH:
      lines[-1] += ' \\'
      lines.append(f'    {word}')
    else:
      lines[-1] += f' {word}'
  return f'\n{_INDENT}'.join(lines)
