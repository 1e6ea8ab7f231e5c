"""Tests of result.json: what is damaged is one line that names the file."""

import json

import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.experiments import result_file

_EVALUATION = results.Evaluation(
    {'srdice': results.MethodResult('srdice', 1.5, seconds=3.0)}, 0.99, 0
)


def test_what_a_run_wrote_is_read(tmp_path):
  assert not result_file.exists(str(tmp_path))
  result_file.write(str(tmp_path), _EVALUATION)
  assert result_file.exists(str(tmp_path))
  found = result_file.read(str(tmp_path))
  assert found['srdice'].value == 1.5 and found['srdice'].seconds == 3.0


def _written() -> str:
  return json.dumps(results.to_json(_EVALUATION))


@pytest.mark.parametrize(
    'content',
    [
        '',
        '[]',
        '{}',
        _written()[:-20],
        _written().replace('1.5', '1.6'),
        _written().replace('"methods"', '"other"'),
        _written().replace('"version": 1', '"version": 2'),
    ],
    ids='empty list object cut digits name version'.split(),
)
def test_what_is_damaged_is_one_line(tmp_path, content):
  (tmp_path / 'result.json').write_text(content)
  message = 'result.json: .*; remove it to evaluate again.'
  with pytest.raises(errors.UserError, match=message) as error:
    result_file.read(str(tmp_path))
  assert '\n' not in str(error.value)
