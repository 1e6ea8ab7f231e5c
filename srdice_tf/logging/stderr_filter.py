"""Passes lines from stdin on to stderr, without known third-party noise.

`quiet.install` runs this file as a process of its own, so that the last lines
of a process that aborts or is killed are still passed on. It imports only the
standard library and starts in a few milliseconds.
"""

import os
import re
import select

# A line that holds only this asks for a byte on stdout once all is passed on.
SYNC = b'\x00sync\x00\n'

# An unfinished line is passed on after this time: it may be a prompt.
_PARTIAL_SECONDS = 0.2
# C++ libraries write one line in pieces; wait longer for what may be noise.
_NOISY_PARTIAL_SECONDS = 2.0
_MAX_PARTIAL_BYTES = 1 << 16

_TENSORFLOW = rb'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: '
# Reverb writes no severity: what it logs as information is told by its words.
_REVERB_INFORMATION = (
    rb'Initializing TFRecordCheckpointer',
    rb'Loading latest checkpoint',
    rb'Loading checkpoint from',
    rb'Loading and verifying metadata',
    rb'Metadata for table .* was successfully loaded',
    rb'Successfully loaded',
    rb'Still reading compressed trajectory data',
    rb'Completed reading compressed trajectory data',
    rb'have been successfully loaded from checkpoint',
    rb'Started replay server',
    rb'Shutting down replay server',
    rb'Stored checkpoint to',
    rb'is accessed directly without gRPC',
)
_NOISE = re.compile(
    rb'|'.join((
        _TENSORFLOW + rb'I ',
        _TENSORFLOW + rb'E .*Unable to register cu\w+ factory',
        _TENSORFLOW + rb'W .*TF-TRT Warning: Could not find TensorRT',
        rb'To enable the following instructions: .*rebuild TensorFlow',
        rb'Gym has been unmaintained since',
        rb'Please upgrade to Gymnasium, the maintained drop-in',
        rb"Users of this version of Gym should .*'import gymnasium as gym'",
        rb'See the migration guide at https://gymnasium\.farama\.org/',
        rb'.*DeprecationWarning: .*The environment \S+ is out of date\.',
        rb"WARNING: compiler attribute 'settotalmass' is deprecated",
        rb'WARNING:absl:`\S+` is not a valid tf\.function parameter name',
        rb'WARNING:absl:Found untraced functions such as',
        rb'A\.L\.E: Arcade Learning Environment',
        rb'\[Powered by Stella\]',
        # Written by many threads at once, which tear each other's lines.
        rb'.*The number of pending items is alarmingly high',
        rb'\[\s*$',  # What is left of the line of one of them.
        rb'\[reverb/cc/.*(?:' + rb'|'.join(_REVERB_INFORMATION) + rb')',
    )),
)
# What follows a line of noise and belongs to it: the quoted source line of
# gymnasium's warning, the empty line of MuJoCo's.
_TAIL = re.compile(rb'(?:\s*|  logger\.deprecation\()$')
_MAY_BECOME_NOISE = re.compile(rb'\[reverb/|' + _TENSORFLOW + rb'|\[Powered')


def is_noise(line: bytes) -> bool:
  return _NOISE.match(line) is not None


class Filter:
  """Splits a stream of bytes into lines and keeps the ones that matter."""

  def __init__(self):
    self._partial = b''
    self._in_line = False  # The start of this line is passed on already.
    self._after_noise = False
    self.num_syncs = 0

  def feed(self, data: bytes) -> bytes:
    """Returns what `data` completes, without noise."""
    *synced, rest = (self._partial + data).split(SYNC)
    self._partial = b''
    kept = b''
    for part in synced:
      kept += self._split(part)
      if not _MAY_BECOME_NOISE.match(self._partial):
        kept += self.take_partial()
      self.num_syncs += 1
    kept += self._split(rest)
    if len(self._partial) > _MAX_PARTIAL_BYTES:
      kept += self.take_partial()
    return kept

  def _split(self, data: bytes) -> bytes:
    lines = (self._partial + data).splitlines(keepends=True)
    complete = not lines or lines[-1].endswith((b'\n', b'\r'))
    self._partial = b'' if complete else lines.pop()
    return b''.join(line for line in lines if self._keep(line))

  def take_partial(self) -> bytes:
    """Returns the unfinished line, whose rest will follow unfiltered."""
    if not self._partial or (not self._in_line and is_noise(self._partial)):
      return b''
    partial, self._partial = self._partial, b''
    self._in_line = True
    self._after_noise = False
    return partial

  def patience(self) -> float | None:
    """Returns the seconds to wait for the rest of an unfinished line."""
    if not self._partial or (not self._in_line and is_noise(self._partial)):
      return None
    if not self._in_line and _MAY_BECOME_NOISE.match(self._partial):
      return _NOISY_PARTIAL_SECONDS
    return _PARTIAL_SECONDS

  def at_line_start(self) -> bool:
    return not self._in_line

  def _keep(self, line: bytes) -> bool:
    if self._in_line:
      self._in_line = False
      return True
    tail = self._after_noise and _TAIL.match(line) is not None
    self._after_noise = tail or is_noise(line)
    return not self._after_noise


def _write(data: bytes) -> None:
  while data:
    try:
      data = data[os.write(2, data) :]
    except BlockingIOError:
      select.select([], [2], [])


def main() -> None:
  """Filters until the end of the input: until all its writers are gone."""
  lines = Filter()
  # A message on a terminal replaces the progress bar, which is drawn anew.
  erase = b'\r\x1b[K' if os.isatty(2) else b''
  acknowledged = 0
  while True:
    ready, _, _ = select.select([0], [], [], lines.patience())
    data = os.read(0, 1 << 16) if ready else None
    prefix = erase if lines.at_line_start() else b''
    kept = lines.feed(data) if data else lines.take_partial()
    _write(kept and prefix + kept)
    os.write(1, b'.' * (lines.num_syncs - acknowledged))
    acknowledged = lines.num_syncs
    if data == b'':
      break


if __name__ == '__main__':
  main()
