"""Verdicts as a person reads them, and the error of who asked for better."""

from collections.abc import Sequence
import textwrap

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.evaluation import verdicts

NEVER = 'never'
_WIDTH = 100
_QUESTION = 'Do the data support this policy?'


def words(grade: str) -> str:
  """Returns a grade as a person reads it."""
  return grade.replace('_', ' ')


def column(found: Sequence[results.MethodResult]) -> str | None:
  """Returns the grade of a method in all runs, the worst if they differ."""
  grades = [result.verdict.grade for result in found if result.verdict]
  return words(verdicts.worst(grades)) if grades else None


def grade(evaluations: Sequence[results.Evaluation]) -> str | None:
  """Returns the grade of the recommended method, in the worst of the runs.

  None if no run has verdicts.
  """
  best = [each.recommended for each in evaluations]
  grades = [result.verdict.grade for result in best if result is not None]
  return verdicts.worst(grades) if grades else None


def lines(evaluations: Sequence[results.Evaluation]) -> str:
  """Returns the verdict on the recommended method, then on each other one.

  Args:
    evaluations: that differ in nothing but their seed.
  """
  found = grade(evaluations)
  if found is None:
    return ''
  told = [f'{_QUESTION} {words(found)}']
  for each in evaluations:
    seed = f' (seed {each.seed})' if len(evaluations) > 1 else ''
    best = each.recommended
    rest = [result for result in each.methods.values() if result is not best]
    for result in filter(None, [best, *rest]):
      if result.verdict is not None:
        told.append(_line(result, seed))
  return '\n'.join(told)


def _line(result: results.MethodResult, seed: str) -> str:
  verdict = result.verdict
  text = f'{result.method}{seed}: {words(verdict.grade)}: '
  return textwrap.fill(
      text + '; '.join(verdict.reasons), _WIDTH, initial_indent='  ',
      subsequent_indent='    ', break_on_hyphens=False,
  )


def check(evaluations: Sequence[results.Evaluation], fail_on: str, where: str):
  """Raises an error if the verdict is `fail_on` or worse.

  Args:
    evaluations: that differ in nothing but their seed.
    fail_on: a grade, or NEVER.
    where: all results are written.

  Raises:
    VerdictError: if it is.
  """
  found = grade(evaluations)
  if fail_on == NEVER or found is None:
    return
  if verdicts.worst([found, fail_on]) == found:
    raise errors.VerdictError(
        f'the verdict is: {words(found)}, and fail_on={fail_on} was asked for;'
        f' all results are in {where}.'
    )
