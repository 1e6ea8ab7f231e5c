"""estimate.json: what a finished run found, read with care."""

from collections.abc import Iterator
import contextlib
import os

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import ope
from srdice_tf.experiments import truths

FILE_NAME = 'estimate.json'
_NUMBERS = ('estimate', 'truth', 'truth_error', 'log_error', 'seconds')


def results(run_dir: str) -> list[ope.Result]:
  """Returns the result of each method.

  Raises:
    UserError: if the file is not what a run wrote.
  """
  with _content(run_dir) as content:
    found = [ope.Result(**method) for method in content['methods']]
    for result in found:
      _check_result(result)
    return found


def truth(run_dir: str) -> dict[str, truth_lib.PolicyValue]:
  """Returns the true values of 'target' and 'behaviour'.

  Raises:
    UserError: if the file is not what a run wrote.
  """
  with _content(run_dir) as content:
    found = {
        name: truth_lib.PolicyValue(**content['truth'][name])
        for name in truths.NAMES
    }
    for value in found.values():
      _check(value.value)
      _check(value.standard_error)
    return found


@contextlib.contextmanager
def _content(run_dir: str) -> Iterator[dict]:
  """Gives the file's content; what is wrong with it becomes one line."""
  path = os.path.join(run_dir, FILE_NAME)
  advice = 'remove it to evaluate anew'
  try:
    yield config_file.read_json(path, advice)
  except (KeyError, TypeError, ValueError) as error:
    raise errors.UserError(
        f'{path}: is not what a run wrote ({_reason(error)}); {advice}.'
    ) from error


def _check_result(result: ope.Result):
  for name in _NUMBERS:
    _check(getattr(result, name))
  if result.interval is not None:
    low, high = result.interval
    _check(low)
    _check(high)


def _check(value):
  if isinstance(value, bool) or not isinstance(value, int | float):
    raise ValueError(f'{value!r:.40} where a number should be')


def _reason(error: Exception) -> str:
  if isinstance(error, KeyError):
    return f'it lacks {error.args[0]}'
  return ' '.join(str(error).split())
