"""The Reverb tables of a data set."""

import reverb

# One item for some hundred rows in a row of one environment, each row in one
# item. Its priority, which no sampler uses, counts what is in it.
SEGMENTS = 'segments'
# One item for each collector: what it collects and how far it is, as JSON.
METADATA = 'metadata'
NAMES = frozenset((SEGMENTS, METADATA))

# A segment has one row at least. There are as many rows as transitions and
# starts, and hardly an episode without a transition.
_MAX_SEGMENTS_PER_TRANSITION = 3
_EPISODES = 2**20  # Above what a segment can hold.


def make_tables(capacity: int) -> list[reverb.Table]:
  """Returns the tables of a server that may hold `capacity` transitions."""
  sizes = {
      SEGMENTS: _MAX_SEGMENTS_PER_TRANSITION * capacity,
      METADATA: 10_000,
  }
  return [
      reverb.Table(
          name,
          sampler=reverb.selectors.Uniform(),
          remover=reverb.selectors.Fifo(),
          max_size=size,
          rate_limiter=reverb.rate_limiters.MinSize(1),
      )
      for name, size in sizes.items()
  ]


def capacity_of(max_segments: int) -> int:
  """Returns the capacity in transitions that a table was made for."""
  return max_segments // _MAX_SEGMENTS_PER_TRANSITION


def priority_of(num_transitions: int, num_episodes: int) -> float:
  """Returns the priority of a segment with so many of both."""
  return float(num_transitions * _EPISODES + num_episodes)


def counts_of(priority: float) -> tuple[int, int]:
  """Returns the transitions and episodes of a segment from its priority."""
  return divmod(int(priority), _EPISODES)
