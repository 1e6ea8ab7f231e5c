"""Tests of estimate.json: what is damaged is one line that names the file."""

import copy
import json

import pytest

from srdice_tf import errors
from srdice_tf.experiments import estimate_file

_VALUE = {
    'value': 1.0,
    'standard_error': 0.1,
    'mean_return': 0.0,
    'std_return': 0.0,
    'mean_length': 0.0,
    'occupancy': 1.0,
    'num_episodes': 100,
    'gamma': 0.99,
    'horizon': 917,
}
_CONTENT = {
    'truth': {'target': _VALUE, 'behaviour': _VALUE},
    'methods': [
        {
            'method': 'srdice',
            'estimate': float('nan'),
            'truth': 1.0,
            'truth_error': 0.1,
            'log_error': float('nan'),
            'smoothed_log_error': 0.0,
            'seconds': 3.0,
            'diverged': True,
            'details': {},
            'ratios': None,
            'interval': [0.0, 2.0],
        }
    ],
}


def test_what_a_run_wrote_is_read(tmp_path):
  (tmp_path / 'estimate.json').write_text(json.dumps(_CONTENT))
  (result,) = estimate_file.results(str(tmp_path))
  assert (result.method, result.seconds) == ('srdice', 3.0)
  assert estimate_file.truth(str(tmp_path))['target'].standard_error == 0.1


def _edited(*path_and_value):
  content = copy.deepcopy(_CONTENT)
  *path, last, value = path_and_value
  part = content
  for name in path:
    part = part[name]
  part[last] = value
  return json.dumps(content)


@pytest.mark.parametrize(
    'content',
    [
        '',
        '[]',
        '{}',
        json.dumps(_CONTENT)[:-20],
        _edited('methods', None),
        _edited('methods', {'srdice': 1.0}),
        _edited('methods', 0, {'method': 'srdice'}),
        _edited('methods', 0, 'estimate', None),
        _edited('methods', 0, 'estimate', [1.0]),
        _edited('methods', 0, 'interval', [1.0]),
        _edited('methods', 0, 'interval', 'ab'),
        _edited('methods', 0, 'unknown', 1.0),
    ],
)
def test_what_is_damaged_is_one_line(tmp_path, content):
  (tmp_path / 'estimate.json').write_text(content)
  message = 'estimate.json: .*; remove it to evaluate anew.'
  with pytest.raises(errors.UserError, match=message) as error:
    estimate_file.results(str(tmp_path))
  assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    'content',
    [
        '',
        '{}',
        _edited('truth', None),
        _edited('truth', []),
        _edited('truth', 'target', {'value': 1.0}),
        _edited('truth', 'behaviour', 'value', 'one'),
        _edited('truth', 'target', 'standard_error', None),
    ],
)
def test_a_damaged_truth_is_one_line(tmp_path, content):
  (tmp_path / 'estimate.json').write_text(content)
  message = 'estimate.json: .*; remove it to evaluate anew.'
  with pytest.raises(errors.UserError, match=message) as error:
    estimate_file.truth(str(tmp_path))
  assert '\n' not in str(error.value)
