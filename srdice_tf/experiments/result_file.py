"""result.json: what a finished run found, read with care."""

import os

from srdice_tf import config_file
from srdice_tf import results

FILE_NAME = 'result.json'
_ADVICE = 'remove it to evaluate again'


def exists(run_dir: str) -> bool:
  return os.path.exists(os.path.join(run_dir, FILE_NAME))


def write(run_dir: str, evaluation: results.Evaluation):
  path = os.path.join(run_dir, FILE_NAME)
  config_file.write_json(path, results.to_json(evaluation))


def read(run_dir: str) -> results.Evaluation:
  """Returns what the run found.

  Raises:
    UserError: if the file is not what a run wrote.
  """
  path = os.path.join(run_dir, FILE_NAME)
  content = config_file.read_json(path, _ADVICE)
  return results.from_json(content, path, _ADVICE)
