"""estimate.json: what a finished run found, read with care."""

import os

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf.experiments import ope

FILE_NAME = 'estimate.json'
_NUMBERS = ('estimate', 'truth', 'truth_error', 'log_error', 'seconds')


def results(run_dir: str) -> list[ope.Result]:
  """Returns the result of each method.

  Raises:
    UserError: if the file is not what a run wrote.
  """
  path = os.path.join(run_dir, FILE_NAME)
  advice = 'remove it to evaluate anew'
  content = config_file.read_json(path, advice)
  try:
    found = [ope.Result(**method) for method in content['methods']]
    for result in found:
      _check_result(result)
  except (KeyError, TypeError, ValueError) as error:
    raise errors.UserError(
        f'{path}: is not what a run wrote ({_reason(error)}); {advice}.'
    ) from error
  return found


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
