"""A part of streamed data that is in memory: some blocks, each in a slot.

To a compiled function it is a data set; its contents change under it.
"""

import numpy as np
import tensorflow as tf

from srdice_tf.data import blocks
from srdice_tf.data import datasets
from srdice_tf.data import stacking

# What a block is made of, in the order in which it is passed on.
_PARTS = (
    'rows', 'ages', 'positions', 'actions', 'rewards', 'not_done', 'episodes',
    'steps',
)


class _Rows(stacking.Observations):
  """Observations that can be replaced."""

  def __init__(self, rows: tf.Variable, ages: tf.Variable, frame_stack: int):
    self.rows = rows
    self.ages = ages
    self.frame_stack = frame_stack


class BlockForm:
  """The form of padded blocks: types and shapes of their parts.

  Attributes:
    dtypes: of the parts, and of the number of transitions.
    shapes: of the same.
  """

  def __init__(self, num_rows: int, rows, actions):
    """Makes the form.

    Args:
      num_rows: the most rows of a block.
      rows: array [?, ...] with the shape and the type of observations.
      actions: array [?, ...] with those of actions.
    """
    self.num_rows = num_rows
    number = ((), tf.int32)
    self._kinds = {
        'rows': (rows.shape[1:], tf.as_dtype(rows.dtype)),
        'ages': number,
        'positions': number,
        'actions': (actions.shape[1:], tf.as_dtype(actions.dtype)),
        'rewards': ((), tf.float32),
        'not_done': ((), tf.float32),
        'episodes': number,
        'steps': number,
    }
    self.dtypes = [*(kind for _, kind in self._kinds.values()), tf.int32]
    self.shapes = [
        *([num_rows, *shape] for shape, _ in self._kinds.values()), []
    ]

  def pad(self, block: blocks.Block) -> list[np.ndarray]:
    """Returns the parts of a block and its size, as `put` takes them."""
    parts = []
    for name, dtype, shape in zip(_PARTS, self.dtypes, self.shapes):
      values = getattr(block, name)
      padded = np.zeros(shape, dtype.as_numpy_dtype)
      padded[: len(values)] = values
      parts.append(padded)
    return [*parts, np.int32(block.size)]

  def variables(self, num_slots: int) -> dict[str, tf.Variable]:
    """Returns a variable with room for some blocks, for each part."""
    size = num_slots * self.num_rows
    return {
        name: tf.Variable(
            tf.zeros([size, *shape], dtype), trainable=False, name=name
        )
        for name, (shape, dtype) in self._kinds.items()
    }


class Window(datasets.Dataset):
  """Blocks in slots; transition k of slot j has the number j M + k.

  M is the most rows of a block. Numbers of transitions that a block does not
  have must not be asked for.
  """

  def __init__(
      self,
      form: BlockForm,
      num_slots: int,
      frame_stack: int,
      starts: datasets.Dataset | None,
  ):
    """Makes room.

    Args:
      form: of the blocks.
      num_slots: for so many.
      frame_stack: frames in an observation, or 0.
      starts: whose start states are those of the data.
    """
    parts = form.variables(num_slots)
    rows, ages = parts.pop('rows'), parts.pop('ages')
    super().__init__(
        observations=_Rows(rows, ages, frame_stack), starts=None, **parts
    )
    keep = lambda name, value: object.__setattr__(self, name, value)
    keep('num_slots', num_slots)
    keep('_form', form)
    keep('_starts', starts)
    keep('_variables', [rows, ages, *parts.values()])
    keep('_counts', _integers([0] * num_slots))
    keep('_next', _integers(0))  # The slot whose block is oldest.
    keep('_drawn', _integers(0))  # Since that slot's turn came.

  @property
  def num_transitions(self) -> int:
    return self.num_slots * self._form.num_rows

  @property
  def num_initial_states(self) -> int:
    return self._starts.num_initial_states

  def initial_states(self, index):
    return self._starts.initial_states(index)

  def put(self, parts: list, slot=0):
    """Replaces the block of a slot by one that was padded."""
    *parts, size = parts
    begin = slot * self._form.num_rows
    places = begin + tf.range(self._form.num_rows)  # [M]
    for variable, part in zip(self._variables, parts):
      part = tf.convert_to_tensor(part)
      if variable is self.positions:
        part += begin
      if self.num_slots == 1:
        variable.assign(part)
      else:
        variable.scatter_update(tf.IndexedSlices(part, places))
    self._counts.scatter_update(tf.IndexedSlices(size, slot))

  def refill(self, take, count: int):
    """Replaces blocks, after `count` transitions were drawn.

    The oldest one goes once as many were drawn as it has: so each transition
    of a block that comes is drawn once, in the mean, whatever their length.

    Args:
      take: returns the next padded block.
      count: of transitions.
    """
    self._drawn.assign_add(count)

    def is_due(_):
      return self._drawn >= self._oldest_size()

    def replace(number):
      slot = self._next.read_value()
      self._drawn.assign_sub(self._oldest_size())
      self.put(take(), slot)
      self._next.assign((slot + 1) % self.num_slots)
      return (number + 1,)

    tf.while_loop(is_due, replace, (tf.constant(0),), parallel_iterations=1)

  def _oldest_size(self) -> tf.Tensor:
    return tf.maximum(tf.gather(self._counts, self._next), 1)

  def draw(self, batch_size: int, rng: tf.random.Generator) -> tf.Tensor:
    """Returns the numbers [B] of transitions, drawn uniformly."""
    ends = tf.cumsum(self._counts.read_value())  # [S]
    drawn = rng.uniform([batch_size], 0, ends[-1], tf.int32)  # [B]
    slots = tf.searchsorted(ends, drawn, side='right')  # [B]
    before = tf.gather(tf.concat([[0], ends], 0), slots)  # [B]
    return slots * self._form.num_rows + drawn - before


def _integers(value) -> tf.Variable:
  return tf.Variable(value, trainable=False, dtype=tf.int32)
