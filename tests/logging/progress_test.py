"""Tests for progress."""

import io
import types

import pytest
import tqdm.std

from srdice_tf.logging import progress


class _Clock:
  now = 0.0

  def __call__(self):
    return self.now


class _Terminal(io.StringIO):

  def isatty(self):
    return True


@pytest.fixture(name='clock')
def _clock(monkeypatch):
  clock = _Clock()
  monkeypatch.setattr(tqdm.std, 'time', clock)
  return clock


def _patch_stderr(monkeypatch, stream):
  # Not sys.stderr itself: pytest sets it between fixtures and test.
  system = types.SimpleNamespace(stderr=stream)
  monkeypatch.setattr(progress, 'sys', system)
  return stream


@pytest.fixture(name='stream')
def _stream(monkeypatch):
  return _patch_stderr(monkeypatch, io.StringIO())


@pytest.fixture(name='terminal')
def _terminal(monkeypatch):
  return _patch_stderr(monkeypatch, _Terminal())


def _lines(stream):
  return stream.getvalue().splitlines()


def _progress(**kwargs):
  return progress.Progress(1000, 'items', 'collect', **kwargs)


def test_plain_line_every_ten_seconds_and_one_at_the_end(clock, stream):
  with _progress() as bar:
    for second in range(1, 26):
      clock.now = float(second)
      bar.update(40 * second)
  assert _lines(stream) == [
      'collect  40% 400/1,000 items 40/s 00:10 ETA 00:15',
      'collect  80% 800/1,000 items 40/s 00:20 ETA 00:05',
      'collect 100% 1,000/1,000 items 40/s 00:25 ETA 00:00',
  ]


def test_the_last_plain_line_is_not_repeated(clock, stream):
  with _progress() as bar:
    clock.now = 20.0
    bar.update(1000)
  assert _lines(stream) == [
      'collect 100% 1,000/1,000 items 50/s 00:20 ETA 00:00'
  ]


def test_resumed_work_counts_only_what_is_new(clock, stream):
  with _progress(initial=500) as bar:
    clock.now = 10.0
    bar.update(600)  # 100 in ten seconds; 400 are left.
  assert '600/1,000 items 10/s 00:10 ETA 00:40' in _lines(stream)[0]


def test_who_knows_the_time_left_says_it(clock, stream):
  with _progress() as bar:
    clock.now = 10.0
    bar.update(100, seconds_left=3.0)  # At the rate so far it would be 1:30.
  assert '100/1,000 items 10/s 00:10 ETA 00:03' in _lines(stream)[0]


def test_nobody_may_know_the_time_left(clock, stream):
  with _progress() as bar:
    clock.now = 10.0
    bar.update(100, seconds_left=float('nan'))
  assert '100/1,000 items 10/s 00:10 ETA ?' in _lines(stream)[0]


def test_the_amount_of_work_may_change(clock, stream):
  with _progress() as bar:
    clock.now = 10.0
    bar.expect(200)
    bar.update(100)
  assert ' 50% 100/200 items 10/s 00:10 ETA 00:10' in _lines(stream)[0]


def test_more_may_be_done_than_was_expected(clock, stream):
  with _progress() as bar:
    clock.now = 10.0
    bar.update(1003)
  assert _lines(stream)[0] == (
      'collect 100% 1,003/1,000 items 100/s 00:10 ETA 00:00'
  )


def test_fields_are_compact(clock, stream):
  with _progress() as bar:
    clock.now = 10.0
    bar.update(10, loss=0.123456, episodes=12345, phase='encoder')
  assert _lines(stream)[0].endswith('loss 0.1235 episodes 12,345 phase encoder')


def test_terminal_draws_one_line_again_and_again(clock, terminal):
  with _progress() as bar:
    clock.now = 0.05
    bar.update(1)  # Too soon to be seen.
    clock.now = 1.0
    bar.update(500)
    clock.now = 2.0
    bar.update(1000)
  start, half, full, end = terminal.getvalue().split('\r')[1:]
  assert start.startswith('collect   0% |')
  assert '| 0/1,000 items 0/s 00:00 ETA ?' in start
  assert half.startswith('collect  50% |')
  assert '| 500/1,000 items 500/s 00:01 ETA 00:01' in half
  assert full.startswith('collect 100% |')
  assert end.endswith('| 1,000/1,000 items 500/s 00:02 ETA 00:00\n')
  assert terminal.getvalue().count('\n') == 1


def test_terminal_line_fits_the_width(clock, terminal):
  with _progress() as bar:
    clock.now = 1.0
    bar.update(500, message='x' * 200)
    clock.now = 2.0
    bar.update(500, episodes=12345)
  _, start, cut, bar, _ = terminal.getvalue().split('\r')
  assert len(start) == len(cut) == len(bar) == 80
  assert cut.endswith('xxx') and bar.endswith('episodes 12,345')


def test_ends_its_line_when_the_work_fails(clock, terminal):
  try:
    with _progress() as bar:
      bar.update(250)
      raise KeyboardInterrupt
  except KeyboardInterrupt:
    terminal.write('interrupted')
  assert '250/1,000' in _lines(terminal)[-2]
  assert _lines(terminal)[-1] == 'interrupted'


@pytest.mark.parametrize('output', ['stream', 'terminal'])
def test_may_be_off(clock, output, request):
  stream = request.getfixturevalue(output)
  with progress.off():
    with _progress() as bar:
      clock.now = 20.0
      bar.update(1, seconds_left=2.0, loss=0.5)
      bar.expect(2)
  assert stream.getvalue() == ''
  with _progress():
    pass
  assert 'collect   0%' in stream.getvalue()


def test_no_work_at_all(clock, stream):
  with progress.Progress(0):
    pass
  assert _lines(stream) == ['100% 0/0 steps 0/s 00:00 ETA ?']


def test_long_times_show_hours(clock, stream):
  with _progress() as bar:
    clock.now = 3723.0
    bar.update(500)
  assert '1:02:03 ETA 1:02:03' in _lines(stream)[0]


def test_work_goes_on_when_nobody_looks(clock, monkeypatch):
  class Closed(io.StringIO):

    def write(self, text):
      raise BrokenPipeError

  _patch_stderr(monkeypatch, Closed())
  with _progress() as bar:
    clock.now = 20.0
    bar.update(1)
    clock.now = 40.0
    bar.update(2)


def _foretold(count, seconds, stream):
  clock = _Clock()
  for done in progress.foretell(count, 'draws', clock):
    clock.now = seconds * (done + 1)
  return _lines(stream)


def test_long_work_is_foretold_once(stream):
  assert not _foretold(100, 0.5, stream)
  assert not _foretold(0, 0.5, stream)
  line = '10,000 draws: about 1:23:18 more'
  assert _foretold(10_000, 0.5, stream) == [line]
