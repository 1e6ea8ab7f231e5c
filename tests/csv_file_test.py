"""Tests of tables on disk: what is damaged is one line that names the file."""

import pytest

from srdice_tf import csv_file
from srdice_tf import errors

_COLUMNS = ('name', 'x', 'y')


def _read(path):
  return csv_file.read(str(path), _COLUMNS, 'remove it', ('name',))


def test_what_is_written_is_read(tmp_path):
  path = tmp_path / 'a.csv'
  assert not _read(path)
  csv_file.write(str(path), _COLUMNS, [('a', 1, 0.1), ('b', float('nan'), 2)])
  first, second = _read(path)
  assert first == {'name': 'a', 'x': 1.0, 'y': 0.1}
  assert second['name'] == 'b' and second['x'] != second['x']


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
