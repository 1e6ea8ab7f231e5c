"""Tests for tables, letter by letter."""

import numpy as np
import pytest

from srdice_tf.reports import tables

_COLUMNS = ('method', 'estimate', 'steps', 'ratio')
_ROWS = (
    ('SR-DICE', 2.5, 250_000, 0.98765),
    ('Deep TD', -12.3456, 1_000, None),
    ('DualDICE', float('nan'), 50, 1.0),
)


def test_numbers_to_the_right_texts_to_the_left():
  assert tables.format_table(_COLUMNS, _ROWS).splitlines() == [
      'method    estimate    steps   ratio',
      '--------- --------- -------- ------',
      'SR-DICE      2.500  250,000  0.9877',
      'Deep TD     -12.35    1,000       -',
      'DualDICE  diverged       50   1.000',
  ]


def test_texts_are_shown_as_they_are_and_whole():
  text = '[bold]x[/bold] :smile: ' + 'long ' * 30 + 'é'
  assert tables.format_table(['note'], [[text]]).splitlines()[2] == text


def test_lines_have_no_blanks_at_their_ends():
  lines = tables.format_table(['a', 'note'], [[1, 'long text'], [2, 'x']])
  assert lines.splitlines()[-1] == '2  x'


def test_a_column_with_a_text_is_a_column_of_texts():
  lines = tables.format_table(['value'], [['unknown'], [1.5], [None]])
  assert lines.splitlines()[2:] == ['unknown', '1.500', '-']


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (0.0, '0.000'),
        (0.00123456, '0.001235'),
        (0.0000123456, '1.235e-05'),
        (123.456, '123.5'),
        (999.949, '999.9'),
        (999.96, '1,000'),
        (-12345.6, '-12,346'),
        (12345678.0, '1.235e+07'),
        (float('-inf'), 'diverged'),
        (np.float32(0.5), '0.5000'),
        (np.int64(12345), '12,345'),
        (True, 'True'),
    ],
)
def test_values(value, text):
  assert tables.format_table(['x'], [[value]]).splitlines()[2].strip() == text


def test_a_table_without_rows():
  assert tables.format_table(['a', 'bc'], []) == 'a  bc\n-- --'


def test_rows_fit_the_columns():
  with pytest.raises(ValueError, match='a value for each'):
    tables.format_table(['a', 'b'], [[1]])


def test_deviations_are_by_n_minus_one():
  assert tables.deviation([1.0, 3.0]) == pytest.approx(2.0**0.5)
  assert tables.deviation([1.0]) is None
