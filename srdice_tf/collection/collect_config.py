"""What is collected, as a config."""

import dataclasses
import hashlib
import json

import numpy as np

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

_TRANSITIONS_PER_ENV = 500
_MAX_ENVS = 25
# One environment collects this many in about a minute. In a data set this
# small, cut episodes would be a large share.
_SMALL = 50_000
# Episodes with a later limit, such as Atari's 27,000 steps, end by themselves.
_LATEST_LIMIT = 2000
_NUM_SEEDS = 2**31


@dataclasses.dataclass(frozen=True)
class CollectConfig(settings.BehaviourNoise):
  """What is collected, with the numbers of the behaviour policy's noise.

  Attributes:
    env_id: the environment.
    policy: name of the base policy.
    policy_checksum: of its weights.
    setting: how the base policy is made the behaviour policy.
    num_transitions: to collect.
    seed: of everything random.
    num_envs: environments that step together.
    collector: number of this collector, if several fill one server.
  """

  env_id: str
  policy: str
  policy_checksum: str
  setting: str
  num_transitions: int = ranges.at_least(1)
  seed: int = ranges.seed(0)
  num_envs: int = ranges.between(1, limits.MOST_ENVS, 1)
  collector: int = ranges.between(0, seeded.NUM_STREAMS - 1, 0)

  def __post_init__(self):
    ranges.check(self)
    if self.num_envs > self.num_transitions:
      raise errors.UserError(
          'num_envs',
          self.num_envs,
          f'expected num_transitions={self.num_transitions} or less, as each'
          ' environment stores at least one',
      )

  def description(self) -> dict:
    """Returns what a data set says of itself."""
    fields = dataclasses.asdict(self)
    del fields['env_id']
    return {'environment': environments.description(self.env_id), **fields}

  @property
  def stream_seed(self) -> int:
    """A seed that no other pair of seed and collector has."""
    return self.seed + _NUM_SEEDS * self.collector

  @property
  def directory_name(self) -> str:
    """The name of a directory that no other data set has."""
    text = json.dumps(self.description(), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    name = f'{self.env_id}_{self.setting}_{self.num_transitions}'
    return f'{name}_seed{self.seed}_{digest}'.replace('/', '_')


def default_num_envs(env_id: str, num_transitions: int) -> int:
  """Returns enough environments for speed, each with at least one episode.

  If the episodes of a small data set go on to their time limit, none is cut:
  each environment collects whole ones.
  """
  limit = environments.time_limit(env_id) or 0
  limit = limit if limit <= _LATEST_LIMIT else 0
  longest = max(_TRANSITIONS_PER_ENV, limit)
  most = int(np.clip(num_transitions // longest, 1, _MAX_ENVS))
  if not limit or num_transitions > _SMALL:
    return most
  whole = (n for n in range(most, 0, -1) if not num_transitions % (n * limit))
  return next(whole, most)
