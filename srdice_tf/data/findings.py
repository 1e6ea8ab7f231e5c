"""All checks of logged data: what makes an evaluation wrong, what to know."""

from collections.abc import Sequence

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.data import episode_findings
from srdice_tf.data import finding
from srdice_tf.data import logged
from srdice_tf.data import numpy_view
from srdice_tf.data import value_findings


def find(
    data: logged.Logged,
    time_limit: int | None = None,
    accepted: Sequence[str] = (),
) -> list[finding.DataFinding]:
  """Returns what is wrong with data, and what is worth knowing, errors first.

  Args:
    data: what a source gave.
    time_limit: of the environment's episodes, if it is known.
    accepted: names of findings that the user knows to be right; errors among
      them become warnings.

  Raises:
    UserError: if there are no transitions, or an accepted name is of no check.
  """
  view = view_of(data)
  found = [each for one in value_findings.CHECKS for each in one(view)]
  found += episode_findings.time_limit(view, time_limit)
  if not any(each.name == 'not_finite' for each in found):
    found += [each for one in episode_findings.CHECKS for each in one(view)]
  check_accepted(accepted)
  found = [
      each._replace(
          severity=(
              finding.WARNING if each.name in accepted else each.severity
          ),
          rows=_source_rows(data, each.rows),
          first=view.place(each.rows[0]) if each.rows else '',
      )
      for each in found
  ]
  return sorted(found, key=lambda each: each.severity != finding.ERROR)


def _source_rows(
    data: logged.Logged, transitions: tuple[int, ...]
) -> tuple[int, ...]:
  """Returns the rows by which the user knows transitions."""
  if data.row_numbers is None or not transitions:
    return transitions
  return tuple(data.row_numbers[list(transitions)].tolist())


def view_of(data: logged.Logged) -> numpy_view.NumpyView:
  """Returns the arrays of data.

  Raises:
    UserError: if there are no transitions.
  """
  if not data.dataset.num_transitions:
    raise errors.at('data', 'there are no transitions')
  return numpy_view.NumpyView(
      data.dataset, data.action_spec, data.bounds_known
  )


# Errors that some data rightly have: of tasks that do end after a fixed number
# of steps, say.
ACCEPTABLE = (
    'time_limit',
    'start_states',
    'pieces',
    'duplicate_episodes',
    'no_rewards',
    'action_range',
)


def check_accepted(names: Sequence[str]):
  """Raises an error if a name is not one of ACCEPTABLE."""
  for name in names:
    if name not in ACCEPTABLE:
      raise errors.UserError(
          'accept', name, f'expected some of {", ".join(ACCEPTABLE)}'
      )


def check_logged(
    data: logged.Logged,
    where: str = 'data',
    time_limit: int | None = None,
    accepted: Sequence[str] = (),
) -> list[str]:
  """Returns warnings, a line each; raises an error if evaluations go wrong.

  Args:
    data: what a source gave.
    where: what errors call them, such as 'data=logs.npz'.
    time_limit: as in `find`.
    accepted: as in `find`.

  Raises:
    UserError: the first error that is found, and how many more there are.
  """
  found = find(data, time_limit, accepted)
  wrong = [each for each in found if each.severity == finding.ERROR]
  if wrong:
    raise errors.at(where, wrong[0].line(), _advice(wrong, where))
  return [each.line() for each in found]


def _advice(wrong: list[finding.DataFinding], where: str) -> str:
  """Returns what follows the first error in its line."""
  parts = []
  if len(wrong) > 1:
    more = len(wrong) - 1
    parts.append(f'{more} more error{"s" * (more > 1)}')
  name, _, source = where.partition('=')
  if name == 'data' and source:
    parts.append(f'see {commands.line("check_data", data=source)}')
  if wrong[0].name in ACCEPTABLE:
    parts.append(f'if the data are right, accept={wrong[0].name}')
  return '; '.join(parts)
