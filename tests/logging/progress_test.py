"""Tests for progress."""

import io

from srdice_tf.logging import progress


class _Clock:
  now = 0.0

  def __call__(self):
    return self.now


class _Terminal(io.StringIO):

  def isatty(self):
    return True


def _lines(stream):
  return stream.getvalue().splitlines()


def _progress(stream, clock, **kwargs):
  return progress.Progress(
      1000, 'items', 'collect', stream=stream, clock=clock, **kwargs
  )


def test_plain_line_every_ten_seconds_and_one_at_the_end():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock) as bar:
    for second in range(1, 26):
      clock.now = float(second)
      bar.update(40 * second)
  assert _lines(stream) == [
      'collect  40% 400/1,000 items 40/s 0:10 ETA 0:15',
      'collect  80% 800/1,000 items 40/s 0:20 ETA 0:05',
      'collect 100% 1,000/1,000 items 40/s 0:25',
  ]


def _foretold(count, seconds):
  clock, stream = _Clock(), io.StringIO()
  for done in progress.foretell(count, 'draws (--draws)', stream, clock):
    clock.now = seconds * (done + 1)
  return _lines(stream)


def test_long_work_is_foretold_once():
  line = '10,000 draws (--draws): about 1:23:18 more'
  assert _foretold(10_000, seconds=0.5) == [line]
  assert _foretold(100, seconds=0.5) == []
  assert _foretold(0, seconds=0.5) == []


def test_resumed_work_counts_only_what_is_new():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock, initial=500) as bar:
    clock.now = 10.0
    bar.update(600)  # 100 in ten seconds; 400 are left.
  assert '600/1,000 items 10/s 0:10 ETA 0:40' in _lines(stream)[0]


def test_who_knows_the_time_left_says_it():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock) as bar:
    clock.now = 10.0
    bar.update(100, seconds_left=3.0)  # At the rate so far it would be 1:30.
  assert '100/1,000 items 10/s 0:10 ETA 0:03' in _lines(stream)[0]


def test_nobody_may_know_the_time_left():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock) as bar:
    clock.now = 10.0
    bar.update(100, seconds_left=float('nan'))
  assert '100/1,000 items 10/s 0:10 ETA -:--' in _lines(stream)[0]


def test_fields_are_compact():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock) as bar:
    clock.now = 10.0
    bar.update(10, loss=0.123456, episodes=12345, phase='encoder')
  assert _lines(stream)[0].endswith('loss 0.1235 episodes 12,345 phase encoder')


def test_terminal_draws_one_line_anew():
  clock, stream = _Clock(), _Terminal()
  with _progress(stream, clock) as bar:
    clock.now = 0.05
    bar.update(1)  # Too soon to be seen.
    clock.now = 1.0
    bar.update(500)
    clock.now = 2.0
    bar.update(1000)
  start, half, full, end = stream.getvalue().split('\r')[1:]
  assert start.startswith('collect   0% [....................] 0/1,000')
  assert half == (
      'collect  50% [##########..........] 500/1,000 items 500/s 0:01'
      ' ETA 0:01\x1b[K'
  )
  assert '[####################]' in full
  assert end.endswith('\x1b[K\n')
  assert stream.getvalue().count('\n') == 1


def test_terminal_line_fits_the_width():
  clock, stream = _Clock(), _Terminal()
  with _progress(stream, clock) as bar:
    clock.now = 1.0
    bar.update(500, message='x' * 200)
  for line in stream.getvalue().split('\r'):
    assert len(line.rstrip('\n').removesuffix('\x1b[K')) < 80


def test_the_bar_gives_way_to_the_rest():
  clock, stream = _Clock(), _Terminal()
  with _progress(stream, clock) as bar:
    clock.now = 1.0
    bar.update(500, episodes=12345)
    clock.now = 2.0
    bar.update(1000, episodes=12345, loss=0.5)
  lines = stream.getvalue().split('\r')
  assert '[######......] 500/1,000 items' in lines[2]
  assert lines[2].endswith('episodes 12,345\x1b[K')
  assert len(lines[2].removesuffix('\x1b[K')) == 79
  assert lines[3].startswith('collect 100% 1,000/1,000 items 500/s')


def test_ends_its_line_when_the_work_fails():
  clock, stream = _Clock(), _Terminal()
  try:
    with _progress(stream, clock) as bar:
      bar.update(250)
      raise KeyboardInterrupt
  except KeyboardInterrupt:
    stream.write('interrupted')
  assert '250/1,000' in _lines(stream)[-2]
  assert _lines(stream)[-1] == 'interrupted'


def test_no_work_at_all():
  stream = io.StringIO()
  with progress.Progress(0, stream=stream, clock=_Clock()):
    pass
  assert _lines(stream) == ['100% 0/0 steps 0/s 0:00']


def test_long_times_show_hours():
  clock, stream = _Clock(), io.StringIO()
  with _progress(stream, clock) as bar:
    clock.now = 3723.0
    bar.update(500)
  assert '1:02:03 ETA 1:02:03' in _lines(stream)[0]


def test_work_goes_on_when_nobody_looks():
  class Closed(io.StringIO):

    def write(self, text):
      raise BrokenPipeError

  clock = _Clock()
  with _progress(Closed(), clock) as bar:
    clock.now = 20.0
    bar.update(1)
    clock.now = 40.0
    bar.update(2)
