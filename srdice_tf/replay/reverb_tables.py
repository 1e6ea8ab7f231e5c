"""The Reverb tables of a data set."""

import reverb

# Each item is up to some hundred consecutive rows of one environment. No
# sampler uses the priority: it says how much is in the item.
SEGMENTS = 'segments'
# One item for each collector: what it collects and how far it got, as JSON.
METADATA = 'metadata'
NAMES = frozenset((SEGMENTS, METADATA))

# A segment has at least one row. There is a row for each transition and each
# start, and few episodes have no transition.
_MAX_SEGMENTS_PER_TRANSITION = 3
_EPISODES = 2**20  # More than a segment can hold.


def make_tables(capacity: int) -> list[reverb.Table]:
  """Returns the tables of a server that can hold `capacity` transitions."""
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
  """Returns the priority of a segment that holds this many of both."""
  return float(num_transitions * _EPISODES + num_episodes)


def counts_of(priority: float) -> tuple[int, int]:
  """Returns the transitions and episodes of a segment from its priority."""
  return divmod(int(priority), _EPISODES)
