"""Tests for the metrics of a run, killed and resumed."""

import glob
import math
import os
import signal

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf.logging import metrics
from tests import warm_processes

_HEADER = 'method,phase,step,name,value\n'


def _text(run_dir):
  return (run_dir / 'metrics.csv').read_text()


def _events(run_dir):
  """Returns (method/tag, step, value) of all events, as they were written."""
  found = []
  for path in sorted(glob.glob(str(run_dir / 'events' / '*' / '*'))):
    method = os.path.basename(os.path.dirname(path))
    for record in tf.data.TFRecordDataset(path):
      event = tf.compat.v1.Event.FromString(record.numpy())
      for value in event.summary.value:
        array = tf.make_ndarray(value.tensor)
        if not value.tag.startswith('_hparams_'):
          found.append((f'{method}/{value.tag}', event.step, array))
  return found


def test_rows_are_as_written(tmp_path):
  with metrics.MetricsWriter(str(tmp_path / 'new')) as writer:
    writer.write('srdice', 'encoder', 1000, {'loss': 0.5, 'next_state': 0.1})
    writer.write('srdice', 'ratio', 1000, {'estimate': np.float32(3.0)})
    writer.write('deep_td', 'q', 2000, {'loss': tf.constant(2.0)})
  assert _text(tmp_path / 'new') == _HEADER + (
      'srdice,encoder,1000,loss,0.5\n'
      'srdice,encoder,1000,next_state,0.1\n'
      'srdice,ratio,1000,estimate,3.0\n'
      'deep_td,q,2000,loss,2.0\n'
  )


def test_reading_gives_the_same_bits(tmp_path):
  values = {'a': 1.0 / 3.0, 'b': 1e-300, 'c': -math.inf, 'd, "e"': -0.0}
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    writer.write('m', 'p', 1, values)
    writer.write('m', 'p', 2, {'a': math.nan})
  *rows, last = metrics.read_metrics(str(tmp_path / 'metrics.csv'))
  assert rows == [metrics.Metric('m', 'p', 1, *item) for item in values.items()]
  assert math.copysign(1.0, rows[-1].value) == -1.0
  assert math.isnan(last.value) and last.step == 2


def test_each_write_is_seen_at_once(tmp_path):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    assert _text(tmp_path) == _HEADER
    writer.write('m', 'p', 1, {'x': 1.0})
    assert _text(tmp_path).endswith('m,p,1,x,1.0\n')
    assert [tag for tag, _, _ in _events(tmp_path)] == ['m/p/x']


def test_tensorboard_has_the_same_numbers(tmp_path):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    writer.write('srdice', 'ratio', 7000, {'estimate': 3.25, 'log_error': -2.0})
    writer.write('srdice', 'ratio', 7000, {'loss': 0.5})
  assert _events(tmp_path) == [
      ('srdice/estimate', 7000, 3.25),
      ('srdice/log_error', 7000, -2.0),
      ('srdice/ratio/loss', 7000, 0.5),
  ]


def test_methods_are_runs_with_the_same_tags(tmp_path):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    for method in ('a', 'b'):
      writer.write(method, 'p', 1, {'x': 1.0})
      writer.write(method, method, 1, {'loss': 1.0})  # The phase of its own.
  assert sorted(os.listdir(tmp_path / 'events')) == ['a', 'b']
  tags = [tag for tag, _, _ in _events(tmp_path)]
  assert tags == ['a/p/x', 'a/train/loss', 'b/p/x', 'b/train/loss']


def test_settings_are_hyperparameters(tmp_path):
  settings = {'gamma': 0.99, 'preset': 'fixed'}
  with metrics.MetricsWriter(str(tmp_path), settings) as writer:
    writer.write('srdice', 'p', 1, {'x': 1.0})
  (path,) = glob.glob(str(tmp_path / 'events' / 'srdice' / '*'))
  text = b''.join(r.numpy() for r in tf.data.TFRecordDataset(path))
  for expected in (b'_hparams_/session', b'gamma', b'fixed', b'srdice'):
    assert expected in text


@pytest.mark.parametrize('bad', [[], [math.nan, math.inf]])
def test_histogram_of_finite_values(tmp_path, bad):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    values = np.float32([0.0, 0.0, 0.0, 3.0] + bad)
    writer.histogram('srdice', 'ratios', values, 5)
    writer.histogram('srdice', 'none', np.float32(bad), 5)
  (tag, step, buckets), (_, _, nothing) = _events(tmp_path)
  assert (tag, step) == ('srdice/ratios', 5)
  assert buckets[0][2] == 3.0 and buckets[-1][2] == 1.0  # Counts.
  assert buckets[0][0] == 0.0 and buckets[-1][1] == 3.0  # Edges.
  assert nothing.sum() == 0.0


def test_histogram_of_very_many_values_counts_a_part(tmp_path):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    writer.histogram('srdice', 'ratios', np.arange(120_000.0), 5)
  ((_, _, buckets),) = _events(tmp_path)
  assert buckets[:, 2].sum() == 40_000.0  # Every third.
  assert buckets[0][0] == 0.0 and buckets[-1][1] == 119_997.0


def _write_steps(writer, method, steps):
  for step in steps:
    writer.write(method, 'p', step, {'x': step / 7.0, 'y': float(step)})


def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path):
  whole, resumed = tmp_path / 'whole', tmp_path / 'resumed'
  with metrics.MetricsWriter(str(whole)) as writer:
    _write_steps(writer, 'a', range(1, 4))
    _write_steps(writer, 'b', range(1, 6))
  with metrics.MetricsWriter(str(resumed)) as writer:
    _write_steps(writer, 'a', range(1, 4))
    _write_steps(writer, 'b', range(1, 5))  # The checkpoint is at b's step 2.
  with metrics.MetricsWriter(str(resumed)) as writer:
    writer.truncate(lambda method, phase, step: method == 'a' or step <= 2)
    _write_steps(writer, 'b', range(3, 6))
  assert _text(resumed) == _text(whole)
  assert sorted(os.listdir(resumed)) == ['events', 'metrics.csv']


def test_truncation_asks_about_method_phase_and_step(tmp_path):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    writer.write('a', 'p', 1, {'x': 1.0, 'y': 1.0})
    writer.write('a', 'q', 1, {'x': 1.0})
    writer.write('b', 'p', 1, {'x': 1.0})
    writer.truncate(lambda method, phase, step: (method, phase) != ('a', 'p'))
    assert _text(tmp_path) == _HEADER + 'a,q,1,x,1.0\nb,p,1,x,1.0\n'
    writer.truncate(lambda *_: False)
    assert _text(tmp_path) == _HEADER


@pytest.mark.parametrize('torn', [b'm', b'm,p,2,x,1.0', b'm,p,2,x,1', b'\xc3'])
def test_a_torn_last_line_is_dropped(tmp_path, torn):
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    writer.write('m', 'p', 1, {'é': 1.0})
  whole = _text(tmp_path)
  path = tmp_path / 'metrics.csv'
  path.write_bytes(whole.encode() + torn)
  assert len(metrics.read_metrics(str(path))) == 1
  metrics.MetricsWriter(str(tmp_path)).close()
  assert _text(tmp_path) == whole


@pytest.mark.parametrize('torn', ['', 'method,pha'])
def test_a_torn_header_is_written_anew(tmp_path, torn):
  (tmp_path / 'metrics.csv').write_text(torn)
  assert metrics.read_metrics(str(tmp_path / 'metrics.csv')) == []
  metrics.MetricsWriter(str(tmp_path)).close()
  assert _text(tmp_path) == _HEADER


def test_nothing_that_was_written_is_lost_by_a_kill(tmp_path):
  program = f"""
import os, signal
from srdice_tf.logging import metrics
writer = metrics.MetricsWriter({str(tmp_path)!r})
writer.write('m', 'p', 1, {{'x': 0.5}})
os.kill(os.getpid(), signal.SIGKILL)
"""
  process = warm_processes.run('-c', program)
  assert process.returncode == -signal.SIGKILL
  assert _text(tmp_path) == _HEADER + 'm,p,1,x,0.5\n'
  assert _events(tmp_path) == [('m/p/x', 1, 0.5)]


def test_a_file_where_events_belong_is_named(tmp_path):
  (tmp_path / 'events').touch()
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    with pytest.raises(NotADirectoryError, match='events/m'):
      writer.write('m', 'p', 1, {'x': 0.5})


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'step,loss\n1,2\n', r"s\.csv: found 'step,loss'; expected method,"),
        (_HEADER.encode() + b'm,p,1,x\n', "line 2 is 'm,p,1,x,'; expected"),
        (_HEADER.encode() + b'm,p,1,x,y\n', "line 2 is 'm,p,1,x,y'; expected"),
        (b'\xff\n', 'cannot be read'),
    ],
)
def test_other_files_are_named(tmp_path, content, message):
  path = tmp_path / 'metrics.csv'
  path.write_bytes(content)
  with pytest.raises(errors.UserError, match=message):
    metrics.read_metrics(str(path))
  with metrics.MetricsWriter(str(tmp_path)) as writer:
    with pytest.raises(errors.UserError, match=message):
      writer.truncate(lambda *_: True)
  assert path.read_bytes() == content
  with pytest.raises(errors.UserError, match='none.csv: cannot be read'):
    metrics.read_metrics(str(tmp_path / 'none.csv'))
