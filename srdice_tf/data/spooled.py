"""Segments that are copied to a file as they come, for further passes.

A server draws at random, so that a pass over its m segments takes m ln m draws.
The first pass leaves a copy in a file without a name, which later ones read.
"""

from collections.abc import Iterator
import contextlib
import os
import pickle

from srdice_tf.data import blocks
from srdice_tf.data import scratch_files

_NEEDED = 1.5  # Free space on the disk, by the size of the data.


class SpooledSegments:
  """A source, see `streamed.SegmentSource`, with a copy of its segments.

  Attributes:
    where: what errors call it.
    frame_stack: frames in an observation, or 0.
  """

  def __init__(self, source, scratch: scratch_files.Scratch):
    """Copies nothing yet.

    Args:
      source: of the segments; its `num_bytes` is their size.
      scratch: where the copy is; if there is too little room, none is made,
        and none is kept if the room goes meanwhile.
    """
    self.where, self.frame_stack = source.where, source.frame_stack
    self.endless = source.endless
    self._source = source
    self._file = scratch.file()
    self._has_room = _free_bytes(self._file) > _NEEDED * source.num_bytes
    self._places = []
    self._is_whole = False

  def segments(self) -> Iterator[blocks.Segment]:
    """Yields each segment once, from the source or from the copy."""
    if not self._has_room:
      yield from self._source.segments()
    elif self._is_whole:
      yield from self._copied()
    else:
      yield from self._copying()

  def _copying(self):
    self._places = []
    self._file.seek(0)
    for segment in self._source.segments():
      if self._has_room:
        self._copy(segment)
      yield segment
    self._is_whole = self._has_room

  def _copy(self, segment: blocks.Segment):
    try:
      self._places.append(self._file.tell())
      pickle.dump(tuple(segment), self._file, pickle.HIGHEST_PROTOCOL)
      self._file.flush()
    except OSError:  # Others have filled the disk.
      self._has_room = False
      with contextlib.suppress(OSError):
        self._file.close()

  def _copied(self):
    for place in self._places:
      self._file.seek(place)
      yield blocks.Segment(*pickle.load(self._file))


def _free_bytes(file) -> int:
  found = os.fstatvfs(file.fileno())
  return found.f_bavail * found.f_frsize
