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
    task: what is evaluated, on each of the environments; its own is not used.
    seeds: of data set and estimators.
    estimators: hyper-parameters.
  """

  env_ids: tuple[str, ...]
  algos: tuple[str, ...]
  task: setup.TaskConfig
  seeds: tuple[int, ...]
  estimators: config_lib.Config

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
  task = setup.Task(dataclasses.replace(config.task, env_id=env_id))
  name = f'{env_id}_{task.config.setting}'.replace('/', '_')
  truth_dir = os.path.join(root, 'truth', name)
  config_file.make_directory(truth_dir)
  run_config = ope.RunConfig(
      task.config,
      config.algos,
      config.estimators,
      seed,
      task.dataset_dir(os.path.join(root, 'data'), seed),
      truth_dir=truth_dir,
  )
  run_dir = os.path.join(
      root, 'runs', f'{name}_{"_".join(config.algos)}', f'seed{seed}'
  )
  config_file.check(run_dir, run_config, ('dataset_checksum',), ope.TRACES)
  if os.path.exists(os.path.join(run_dir, estimate_file.FILE_NAME)):
    results = estimate_file.results(run_dir)
  else:
    results = ope.run(run_config, run_dir)
  correlation = selection.rank_correlation(run_dir)
  truth = estimate_file.truth(run_dir)['target']
  return Run(env_id, seed, results, correlation, truth)
