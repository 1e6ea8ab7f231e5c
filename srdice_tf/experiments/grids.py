"""Lists of runs as data: what is varied around one run.

A grid says which environments, seeds and parts of the data there are; `configs`
writes it out as configs for `sweep`. `known_experiments` has the experiments.
"""

import dataclasses

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.evaluation import intervals
from srdice_tf.experiments import runs


@dataclasses.dataclass(frozen=True)
class Grid:
  """What differs between the runs of a sweep.

  Attributes:
    env_ids: environments; () for that of the run itself.
    num_seeds: runs with data of their own, counted up from the run's seed.
    num_parts: parts of one long data set, each evaluated on its own.
  """

  env_ids: tuple[str, ...] = ()
  num_seeds: int = ranges.at_least(1, 1)
  num_parts: int = ranges.at_least(1, 1)

  def __post_init__(self):
    ranges.check(self)


STUDY = Grid(env_ids=environments.CONTINUOUS_TASKS, num_seeds=10)
COVERAGE = Grid(num_parts=100)


def configs(config: runs.RunConfig, grid: Grid) -> list[runs.RunConfig]:
  """Returns the runs of a grid, seed by seed.

  Args:
    config: what all have in common. Its task is that of each environment; its
      transitions are those of one part.
    grid: what differs.

  Raises:
    UserError: if one data set is named for several.
  """
  _check(config, grid)
  if config.task.names_data:
    return [config]
  first, parts = config.seed or 0, grid.num_parts
  seeds = range(first, first + grid.num_seeds)
  size = config.task.num_transitions * parts
  return [
      dataclasses.replace(
          config,
          task=dataclasses.replace(
              config.task, env_id=env_id, num_transitions=size
          ),
          # A single run takes the seed of its data, if none is given.
          seed=config.seed if grid.num_seeds == 1 else seed,
          part=part,
          num_parts=parts,
      )
      for seed in seeds
      for env_id in grid.env_ids or (config.task.env_id,)
      for part in range(parts)
  ]


def _check(config: runs.RunConfig, grid: Grid):
  if grid.env_ids:
    ranges.check_list('envs', grid.env_ids)
  first = config.seed or 0
  ranges.check_seeds(range(first, first + grid.num_seeds))
  for field, place in config.places.items():
    if grid.num_seeds > 1 or len(grid.env_ids) > 1:
      raise errors.UserError(
          'num_seeds',
          grid.num_seeds,
          f'each run has a data set of its own, but {field}={place} is one;'
          ' leave one of the two out',
      )
  draws = config.hyperparameters['bootstrap_draws']
  if grid.num_parts > 1 and draws < intervals.MIN_DRAWS:
    raise errors.UserError(
        'bootstrap_draws',
        draws,
        f'too few for an interval; expected at least {intervals.MIN_DRAWS}',
    )
