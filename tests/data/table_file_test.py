"""Tests for tables, written by pandas and pyarrow themselves."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import errors
from tests import collected_data

_EXTENSIONS = ['.csv', '.parquet']
_MAP = 'state=s1+s2,action=a,reward=r,episode=id,step=t,terminal=done'


def _write(path, table):
  if path.suffix == '.csv':
    table.to_csv(path, index=False)
  else:
    table.to_parquet(path, index=False)
  return str(path)


def _table(**columns):
  """Two episodes, of 3 steps to a terminal state and of 3 that are cut."""
  return pd.DataFrame({
      's1': [0.5, 1.5, 2.5, 3.5, 4.5, 5.5],
      's2': [0, 1, 2, 3, 4, 5],
      'a': [0, 1, 2, 0, 1, 2],
      'r': [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
      'id': ['x', 'x', 'x', 'y', 'y', 'y'],
      't': [0, 1, 2, 0, 1, 2],
      'done': [False, False, True, False, False, False],
      'shop': ['Rome', 'Rome', 'Oslo', 'Oslo', 'Rome', 'Rome'],
      **columns,
  })


def _exported(dataset):
  """Returns a table of a data set and the map of its columns."""
  arrays = collected_data.arrays(dataset)
  columns = {'r': arrays['rewards'], 'terminal': arrays['terminals']}
  groups = {'state': 'observations', 'next_state': 'next_observations'}
  if arrays['actions'].ndim == 1:
    columns['a_0'] = arrays['actions']
  else:
    groups['a'] = 'actions'
  for name, key in groups.items():
    for i, values in enumerate(arrays[key].T):
      columns[f'{name}_{i}'] = values
  columns['episode'] = dataset.episodes.numpy()
  columns['minute'] = dataset.steps.numpy()
  return pd.DataFrame(columns), (
      'state=state_*,next_state=next_state_*,action=a_*,reward=r,'
      'terminal=terminal,episode=episode'
  )


def _message(path, columns=_MAP) -> str:
  with pytest.raises(errors.UserError) as info:
    data.open_data(str(path), columns)
  message = str(info.value)
  assert str(path) in message and '\n' not in message
  return message


@pytest.mark.parametrize('extension', _EXTENSIONS)
@pytest.mark.parametrize(
    'env_id', [collected_data.PENDULUM, collected_data.CARTPOLE]
)
def test_round_trip(tmp_path, env_id, extension):
  dataset = collected_data.dataset(env_id)
  table, columns = _exported(dataset)
  path = tmp_path / f'log{extension}'
  _write(path, table)
  before = path.read_bytes(), path.stat().st_mtime_ns
  found = data.open_data(str(path), columns)
  assert found.dataset.checksum() == dataset.checksum()
  _write(path, table.sample(frac=1, random_state=1))  # In any order.
  found = data.open_data(str(path), f'{columns},step=minute')
  assert found.dataset.checksum() == dataset.checksum()
  _write(path, table)
  assert path.read_bytes() == before[0]


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_files_are_left_as_they_are(tmp_path, extension):
  path = tmp_path / f'log{extension}'
  _write(path, _table())
  before = path.read_bytes(), path.stat().st_mtime_ns
  data.open_data(str(path), _MAP)
  assert (path.read_bytes(), path.stat().st_mtime_ns) == before
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_a_business_log(tmp_path, extension):
  table = _table().sample(frac=1, random_state=3)
  found = data.open_data(_write(tmp_path / f'log{extension}', table), _MAP)
  dataset = found.dataset
  np.testing.assert_array_equal(dataset.rewards, [1, 2, 3, 4, 5])
  np.testing.assert_array_equal(dataset.not_done, [1, 1, 0, 1, 1])
  np.testing.assert_array_equal(dataset.actions, [0, 1, 2, 0, 1])
  np.testing.assert_array_equal(
      dataset.next_states(tf.range(5)),
      [[1.5, 1], [2.5, 2], [2.5, 2], [4.5, 4], [5.5, 5]],
  )
  assert found.action_spec.dtype == tf.int64
  assert found.notes[0].startswith('the whole numbers of a are taken as disc')
  assert len(found.notes) == 3  # And those of the missing observations.


def test_times_give_the_order(tmp_path):
  times = [f'2024-01-01T{hour:02}:00:00Z' for hour in (9, 10, 11, 1, 12, 13)]
  table = _table(t=times)[::-1]
  for extension, times in (
      ('.csv', table.t), ('.parquet', pd.to_datetime(table.t))
  ):
    path = _write(tmp_path / f'log{extension}', table.assign(t=times))
    found = data.open_data(path, _MAP)
    np.testing.assert_array_equal(found.dataset.rewards, [1, 2, 3, 4, 5])
  path = _write(tmp_path / 'log.csv', _table(t=['9:05', '10:00'] * 3))
  assert 'the column t cannot be read' in _message(path)


def test_kinds_of_actions_and_states(tmp_path):
  path = tmp_path / 'log.csv'
  floats = _table(a=[0.0, 1.0, 2.0] * 2)
  found = data.open_data(_write(path, floats), _MAP)
  assert found.action_spec.shape == (1,)
  assert found.notes[0] == 'the floats of a are taken as continuous actions'
  truths = _table(a=[True, False] * 3)
  found = data.open_data(_write(path, truths), _MAP)
  np.testing.assert_array_equal(found.dataset.actions, [1, 0, 1, 0, 1])
  found = data.open_data(
      _write(path, _table()), _MAP.replace('s1+s2', 's2').replace('a,', 'a+s1,')
  )
  assert found.observation_spec.maximum == 5
  assert found.action_spec.shape == (2,)


def test_lists_in_parquet(tmp_path):
  table = _table(s=[[i, i / 2] for i in range(6)])
  columns = _MAP.replace('s1+s2', 's+s1')
  path = _write(tmp_path / 'log.parquet', table)
  found = data.open_data(path, columns)
  np.testing.assert_array_equal(
      found.dataset.states(tf.constant([1])), [[1, 0.5, 1.5]]
  )
  _write(tmp_path / 'log.parquet', _table(s=[[0.0]] * 5 + [[0.0, 1.0]]))
  message = _message(path, columns)
  assert 'the column s has 2 in row 5; expected 1 numbers' in message
  _write(tmp_path / 'log.parquet', _table(s=[[0.0, np.nan]] * 6))
  assert 'state (s+s1) has the value nan in row 0' in _message(path, columns)
  _write(tmp_path / 'log.parquet', _table(s=[['a', 'b']] * 6))
  assert 'the column s is of object' in _message(path, columns)


def test_steps_that_jump_are_noted(tmp_path):
  path = _write(tmp_path / 'log.csv', _table(t=[0, 1, 3, 0, 1, 2]))
  found = data.open_data(path, _MAP)
  assert found.notes[0].startswith(
      'the column t does not go up by 1 in 1 places, the first after row 1'
  )


@pytest.mark.parametrize('extension', _EXTENSIONS)
@pytest.mark.parametrize('columns, found', [
    ({'s1': [0, 1, np.nan, 3, 4, 5]}, 'the column s1 has nothing in row 2;'
     ' expected a number'),
    ({'r': [0, 1, np.inf, 3, 4, 5]}, 'the column r has inf in row 2; expected'
     ' a finite'),
    ({'r': ['0', '1', 'two', '3', '4', '5']}, "the column r has 'two' in row 2;"
     ' expected a number'),
    ({'s1': [1e300] * 6}, 'state (s1+s2) has the value inf in row 0'),
    ({'a': [0, 1, -1, 0, 1, 1]}, 'action (a) has the value -1 in row 2'),
    ({'done': [0, 3, 0, 0, 0, 0]}, 'terminal (done) has the value 3 in row 1;'
     ' expected 0 or 1'),
    ({'done': [1, 0, 0, 0, 0, 0]}, 'row 0 ends an episode by terminal (done)'),
    ({'t': [0, 1, 1, 0, 1, 2]}, 'the column t is 1 in row 1 and in row 2, of'
     ' the same episode'),
    ({'id': ['x', None, 'x', 'y', 'y', 'y']}, 'the column id has nothing in row'
     ' 1'),
])
def test_what_is_refused(tmp_path, extension, columns, found):
  path = tmp_path / f'log{extension}'
  _write(path, _table(**columns))
  assert found in _message(path)


def test_rows_are_those_of_the_file(tmp_path):
  table = _table(a=[0, 1, -1, 0, 1, 1])[::-1]
  path = _write(tmp_path / 'log.csv', table)
  assert 'action (a) has the value -1 in row 3' in _message(path)
  mixed = _table().iloc[[0, 3, 1, 4, 2, 5]]
  path = _write(tmp_path / 'log.csv', mixed)
  message = _message(path, _MAP.replace('step=t,', ''))
  assert 'episode (id) x comes again in row 2' in message


def test_of_many_columns_some_are_named(tmp_path):
  table = _table(**{f'c{i}': [1e300] * 6 for i in range(9)})
  path = _write(tmp_path / 'log.csv', table)
  message = _message(path, _MAP.replace('s1+s2', 'c*'))
  assert 'state (c0+c1+...+c8) has the value inf' in message


def test_observations_that_do_not_chain(tmp_path):
  path = _write(tmp_path / 'log.csv', _table(n=[9, 1, 2, 3, 4, 5]))
  message = _message(path, _MAP.replace('s1+s2', 's2') + ',next_state=n')
  assert 'next_state (n) of 4 steps are not the state (s2)' in message


@pytest.mark.parametrize('columns, found', [
    ('', 'state is missing; '),
    ('state=s1,action=a,reward=r', 'episode or terminal or timeout is missing'),
    ('state=s1+x', 'there is no column x; '),
    ('state=x*', r'there is no column x*; '),
    ('reward=s*', 'reward has 2 columns; expected one'),
    ('states=s1', "found 'states=s1'; expected each of state, next_state"),
    ('state=s1,state=s2', "found 'state=s2'"),
    ('state', "found 'state'"),
])
def test_maps_that_do_not_fit(tmp_path, columns, found):
  table = _table().drop(columns='shop')
  path = _write(tmp_path / 'log.csv', table)
  with pytest.raises(errors.UserError) as info:
    data.open_data(path, columns)
  message = str(info.value)
  assert message.startswith(f'columns={columns}: ') and found in message
  if 'there is no' in found or 'missing' in found:
    assert f'{path} has the columns s1, s2, a, r, id, t, done' in message


@pytest.mark.parametrize('extension', _EXTENSIONS)
def test_not_the_format(tmp_path, extension):
  path = tmp_path / f'log{extension}'
  path.write_bytes(b'')
  assert 'the file is empty' in _message(path)
  path.write_bytes(bytes(range(256)) * 4)
  _message(path)
  _write(path, _table()[:0])
  assert 'there are no steps' in _message(path)


def test_files_that_were_cut(tmp_path):
  path = tmp_path / 'log.parquet'
  _write(path, _table())
  whole = path.read_bytes()
  for share in (0.1, 0.5, 0.99):
    path.write_bytes(whole[: int(share * len(whole))])
    assert 'expected a Parquet file' in _message(path)
  path = tmp_path / 'log.csv'
  _write(path, _table())
  whole = path.read_bytes()
  path.write_bytes(whole[:-15])  # In the middle of a line.
  assert 'has nothing in row 5' in _message(path)
  path.write_bytes(whole[:-1])
  found = data.open_data(str(path), _MAP)
  assert 'the last line has no end' in found.notes[1]


def test_lines_with_too_many_values(tmp_path):
  path = tmp_path / 'log.csv'
  _write(path, _table())
  lines = path.read_text().splitlines()
  path.write_text('\n'.join([lines[0], *(line + ',7' for line in lines[1:])]))
  assert 'expected a CSV file with a header' in _message(path)
  path.write_text('\n'.join([*lines[:3], lines[3] + ',7', *lines[4:]]))
  assert 'Expected 8 fields in line 4, saw 9' in _message(path)
