"""Many evaluations: tasks times data-set seeds, resumable run by run."""

from collections.abc import Iterator
import dataclasses
import os

from srdice_tf import config_file
from srdice_tf import ranges
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.evaluation import truth as truth_lib
from srdice_tf.experiments import estimate_file
from srdice_tf.experiments import ope
from srdice_tf.experiments import setup
from srdice_tf.reports import selection


@dataclasses.dataclass(frozen=True)
class StudyConfig:
  """Which evaluations.

  Attributes:
    env_ids: the environments.
    algos: names of the estimators.
    setting: of the behaviour policy.
    seeds: of data set and estimators.
    estimators: hyper-parameters.
    truth_episodes: of TaskConfig, as the two that follow.
    truth_max_episodes: see there.
    keep_time_limit: see there.
    policy: name of the base policy.
    num_transitions: of each data set; 0 for the setting's.
  """

  env_ids: tuple[str, ...]
  algos: tuple[str, ...]
  setting: str
  seeds: tuple[int, ...]
  estimators: config_lib.Config
  truth_episodes: int = ranges.at_least(0, 0)
  truth_max_episodes: int = ranges.at_least(2, 1000)
  keep_time_limit: bool = False
  policy: str = 'pretrained'
  num_transitions: int = ranges.at_least(0, 0)

  def __post_init__(self):
    ranges.check(self)
    registry.check_names(self.algos)
    ranges.check_list('envs', self.env_ids)
    ranges.check_seeds(self.seeds)


@dataclasses.dataclass(frozen=True)
class Run:
  """One evaluation of a study.

  Attributes:
    env_id: the environment.
    seed: of data set and estimators.
    results: of each method.
    rank_correlation: of flow residual and true error over the grid; NaN
      without one.
    truth: value of the target policy.
  """

  env_id: str
  seed: int
  results: list[ope.Result]
  rank_correlation: float
  truth: truth_lib.PolicyValue


def run(config: StudyConfig, root: str) -> Iterator[Run]:
  """Yields the runs, seed by seed; finished ones are read, not repeated.

  Args:
    config: which evaluations.
    root: holds data/, truth/ and runs/.
  """
  for seed in config.seeds:
    for env_id in config.env_ids:
      yield _run(config, env_id, seed, root)


def _run(config: StudyConfig, env_id: str, seed: int, root: str) -> Run:
  name = f'{env_id}_{config.setting}'.replace('/', '_')
  truth_dir = os.path.join(root, 'truth', name)
  os.makedirs(truth_dir, exist_ok=True)
  task = setup.Task(
      setup.TaskConfig(
          env_id=env_id,
          policy=config.policy,
          setting=config.setting,
          num_transitions=config.num_transitions,
          truth_episodes=config.truth_episodes,
          truth_max_episodes=config.truth_max_episodes,
          keep_time_limit=config.keep_time_limit,
      )
  )
  run_config = ope.RunConfig(
      task.config,
      config.algos,
      config.estimators,
      seed,
      os.path.join(root, 'data', f'{name}_seed{seed}'),
      truth_dir=truth_dir,
  )
  run_dir = os.path.join(
      root, 'runs', f'{name}_{"_".join(config.algos)}', f'seed{seed}'
  )
  config_file.claim(run_dir, run_config)
  if os.path.exists(os.path.join(run_dir, estimate_file.FILE_NAME)):
    results = estimate_file.results(run_dir)
  else:
    results = ope.run(run_config, run_dir)
  correlation = selection.rank_correlation(run_dir)
  truth = estimate_file.truth(run_dir)['target']
  return Run(env_id, seed, results, correlation, truth)
