"""Tests of tables on disk: what is damaged is one line that names the file."""

import math

import pytest

from srdice_tf import csv_file
from srdice_tf import errors

_COLUMNS = ('name', 'x', 'y')


def _read(path, **kwargs):
  return csv_file.read(str(path), _COLUMNS, 'remove it', ('name',), **kwargs)


def test_what_is_written_is_read(tmp_path):
  path = tmp_path / 'a.csv'
  assert not _read(path)
  csv_file.write(str(path), _COLUMNS, [('a', 1, 0.1), ('b', float('nan'), 2)])
  first, second = _read(path)
  assert first == {'name': 'a', 'x': 1.0, 'y': 0.1}
  assert second['name'] == 'b' and second['x'] != second['x']
  assert path.read_text() == 'name,x,y\na,1,0.1\nb,nan,2\n'


def test_numbers_keep_their_bits(tmp_path):
  path = tmp_path / 'a.csv'
  values = [1.0 / 3.0, 1e-300, 5e-324, 0.1 + 0.2, -math.inf, 2.0**53 + 2.0]
  csv_file.write(str(path), _COLUMNS, [('"a, b"', x, -0.0) for x in values])
  rows = _read(path)
  assert [row['x'] for row in rows] == values
  assert rows[0]['name'] == '"a, b"'
  assert math.copysign(1.0, rows[0]['y']) == -1.0


def test_a_growing_table_may_end_in_the_middle_of_a_line(tmp_path):
  path = tmp_path / 'a.csv'
  for text, count in (('', 0), ('na', 0), ('name,x,y\na,1,2\nb,3', 1)):
    path.write_text(text)
    assert len(_read(path, is_growing=True)) == count
  with pytest.raises(errors.UserError, match='is cut short in line 3; remove'):
    _read(path)


@pytest.mark.parametrize(
    'content',
    [
        b'',
        b'\x00\xff\xfe garbage',
        b'name,x\na,1\n',
        b'name,x,y\na,1\n',
        b'name,x,y\na,1,2,3\n',
        b'name,x,y\na,one,2\n',
        b'name,x,y\n"a,1,2\n',
        b'[1, 2]\n',
    ],
)
def test_what_is_damaged_is_one_line(tmp_path, content):
  path = tmp_path / 'a.csv'
  path.write_bytes(content)
  with pytest.raises(errors.UserError, match='a.csv: .*; remove it.') as error:
    _read(path)
  assert '\n' not in str(error.value)
