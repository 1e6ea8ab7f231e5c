"""The Reverb tables of a data set."""

import reverb

# One item a transition, sampled uniformly: for streaming.
TRANSITIONS = 'transitions'
# One item a reset, sampled uniformly.
INITIAL_STATES = 'initial_states'
# One item for some hundred rows in a row of one environment, each row in one
# item: for reading everything. It shares its data with the other tables.
SEGMENTS = 'segments'
# One item for each collector: what it collects, as JSON.
METADATA = 'metadata'


def make_tables(capacity: int) -> list[reverb.Table]:
  """Returns the tables of a server that may hold `capacity` transitions."""
  sizes = {
      TRANSITIONS: capacity,
      INITIAL_STATES: capacity,
      SEGMENTS: capacity,
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
