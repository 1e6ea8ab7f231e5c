"""What random rewards found, as a table and as JSON."""

from collections.abc import Mapping
import dataclasses

import numpy as np
import pandas as pd

from srdice_tf import csv_file
from srdice_tf import errors
from srdice_tf import results
from srdice_tf.evaluation import log_error

BEHAVIOUR = 'behaviour'  # The method whose ratio is always 1.
_COLUMNS = (
    'env', 'setting', 'seed', 'method', 'reward', 'truth', 'truth_error',
    'data_mean', 'estimate', 'log_mse',
)
_TEXTS = 'env', 'setting', 'method'
_ADVICE = 'remove it to compute it again'


def log_mses(
    estimates: Mapping[str, np.ndarray], truths: np.ndarray, means: np.ndarray
) -> dict[str, np.ndarray]:
  """Returns the log errors in units of the data's mean rewards, by method."""
  return {
      name: log_error.log_error(each / means, truths / means)
      for name, each in estimates.items()
  }


def frame(study: results.RandomRewards) -> pd.DataFrame:
  """Returns a tidy table: a row for each method, over the rewards.

  A reward for which a method diverged has no error, and does not count.
  """
  rows = [
      {
          'env': study.env_id,
          'setting': study.setting,
          'seed': study.seed,
          'method': method,
          'rewards': int(errors_.count()),
          'mean_log_mse': errors_.mean(),
          'std_log_mse': errors_.std(),
      }
      for method, errors_ in pd.DataFrame(dict(study.log_mses)).items()
  ]
  return pd.DataFrame(rows)


def to_json(study: results.RandomRewards) -> dict:
  """Returns the study with six digits of each number, without its errors."""
  fields = {
      field.name: getattr(study, field.name)
      for field in dataclasses.fields(study)
      if field.name != 'log_mses'
  }
  return {name: _rounded(value) for name, value in fields.items()}


def _rounded(value):
  if isinstance(value, Mapping):
    return {name: _rounded(each) for name, each in value.items()}
  if isinstance(value, np.ndarray) and value.dtype.kind == 'f':
    return [float(f'{number:.6g}') for number in value]
  return value.tolist() if isinstance(value, np.ndarray) else value


def from_json(content: Mapping) -> results.RandomRewards:
  """Returns what `to_json` made."""
  fields = {
      name: np.array(value) if isinstance(value, list) else value
      for name, value in content.items()
  }
  estimates = {m: np.array(each) for m, each in content['estimates'].items()}
  errors_ = log_mses(estimates, fields['truths'], fields['data_means'])
  return results.RandomRewards(
      **{**fields, 'estimates': estimates}, log_mses=errors_
  )


def write(path: str, study: results.RandomRewards):
  """Writes a row for each reward and method."""
  rows = [
      (
          study.env_id, study.setting, study.seed, method, number, *numbers,
          study.estimates[method][k], study.log_mses[method][k],
      )
      for method in study.estimates
      for k, (number, *numbers) in enumerate(
          zip(study.numbers, study.truths, study.truth_errors, study.data_means)
      )
  ]
  csv_file.write(path, _COLUMNS, rows)


def read(path: str) -> results.RandomRewards:
  """Returns what `write` wrote.

  Raises:
    UserError: if the file is damaged.
  """
  rows = csv_file.read(path, _COLUMNS, _ADVICE, _TEXTS)
  column = lambda name, method: np.array(
      [row[name] for row in rows if row['method'] == method]
  )
  methods = list(dict.fromkeys(row['method'] for row in rows))
  counts = {len(column('reward', method)) for method in methods}
  if BEHAVIOUR not in methods or len(counts) > 1:
    raise errors.at(path, 'was cut short or edited', _ADVICE)
  first = methods[0]
  return results.RandomRewards(
      env_id=rows[0]['env'],
      setting=rows[0]['setting'],
      seed=int(rows[0]['seed']),
      numbers=column('reward', first).astype(np.int64),
      truths=column('truth', first),
      truth_errors=column('truth_error', first),
      data_means=column('data_mean', first),
      estimates={each: column('estimate', each) for each in methods},
      log_mses={each: column('log_mse', each) for each in methods},
  )
