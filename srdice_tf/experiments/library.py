"""Off-policy evaluation as a library call, for any TF-Agents policy."""

import dataclasses
import json
import os

import numpy as np
import tensorflow as tf

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import finite
from srdice_tf import training
from srdice_tf.estimators import base
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.experiments import arguments
from srdice_tf.experiments import setup

_CONFIG, _WEIGHTS = 'estimator.json', 'weights'


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """What an evaluation found.

  Attributes:
    value: the estimate of (1-gamma) E[sum_t gamma^t r_t].
    ratios: [n] density ratios of the transitions; None without ratios.
    estimator: the fitted estimator, which can be used on.
  """

  value: float
  ratios: np.ndarray | None
  estimator: base.Estimator


def evaluate(
    policy,
    dataset,
    algo: str = 'srdice',
    gamma: float = 0.99,
    config: config_lib.Config | None = None,
    seed: int = 0,
    mdp: finite.FiniteMDP | None = None,
) -> Evaluation:
  """Estimates the value of a policy from logged data.

  Args:
    policy: any TF-Agents TFPolicy, with the specs of the data. A stochastic one
      needs a distribution, from which its actions are drawn by the seed.
    dataset: a data.Dataset.
    algo: name of an estimator.
    gamma: discount.
    config: hyper-parameters; default: the paper's.
    seed: of everything random.
    mdp: the MDP itself, where it is finite and known.

  Raises:
    UserError: if data or arguments cannot be used.
  """
  numbers = arguments.Numbers(algo, gamma, seed)
  estimator = _make(policy, dataset, numbers, config, mdp)
  training.Trainer({algo: estimator}).run()
  return _evaluation(estimator)


def save(estimator: base.Estimator, directory: str):
  """Saves a fitted estimator; `load` needs the same policy and data."""
  if not isinstance(estimator, base.Estimator):
    raise errors.UserError(
        f'estimator: found {type(estimator).__name__}; expected the estimator'
        ' of an Evaluation.'
    )
  os.makedirs(directory, exist_ok=True)
  checkpoint = tf.train.Checkpoint(estimator=estimator)
  checkpoint.write(os.path.join(directory, _WEIGHTS))
  config_file.write_json(
      os.path.join(directory, _CONFIG),
      {
          'algo': estimator.name,
          'gamma': estimator.problem.gamma,
          'seed': estimator.seed,
          'config': dataclasses.asdict(estimator.config),
      },
  )


def load(directory: str, policy, dataset, mdp=None) -> Evaluation:
  """Returns what `save` saved, without training.

  Args:
    directory: where it was saved.
    policy: the target policy.
    dataset: the data set whose ratios and value are wanted.
    mdp: as for `evaluate`.

  Raises:
    UserError: if there is no estimator, or it does not fit the data.
  """
  numbers, config = _read(os.path.join(directory, _CONFIG))
  estimator = _make(policy, dataset, numbers, config, mdp)
  checkpoint = tf.train.Checkpoint(estimator=estimator)
  try:
    status = checkpoint.read(os.path.join(directory, _WEIGHTS))
    status.expect_partial().assert_existing_objects_matched()
  except Exception as error:  # What damage raises depends on where it is.
    raise _unreadable(directory, error) from error
  for phase in estimator.phases:
    phase.prepare()
  return _evaluation(estimator)


def _read(path: str) -> tuple[arguments.Numbers, config_lib.Config]:
  """Returns what `save` wrote of an estimator's settings."""
  try:
    with open(path) as file:
      saved = json.load(file)
    fields = {name: saved[name] for name in ('algo', 'gamma', 'seed')}
    return arguments.Numbers(**fields), config_lib.Config(**saved['config'])
  except (
      OSError, ValueError, TypeError, KeyError, errors.UserError
  ) as error:
    raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> errors.UserError:
  reason = (str(error).strip() or type(error).__name__).splitlines()[0]
  return errors.UserError(
      f'{path}: no estimator that fits can be read there ({reason}); expected'
      ' what `save` wrote.'
  )


def _make(policy, dataset, numbers, config, mdp) -> base.Estimator:
  algo, gamma, seed = numbers.algo, numbers.gamma, numbers.seed
  registry.check_names([algo])
  policy = arguments.check_policy(policy)
  specs = policy.time_step_spec.observation, policy.action_spec
  if config is None:
    config = config_lib.preset('paper', setup.has_frames(specs))
  arguments.check_config(config)
  arguments.check_data(policy, dataset)
  arguments.check_mdp(policy, mdp)
  problem = setup.make_problem(policy, dataset, specs, gamma, mdp)
  return registry.make_estimators([algo], problem, config, seed)[algo]


def _evaluation(estimator: base.Estimator) -> Evaluation:
  ratios = None
  if isinstance(estimator, base.RatioEstimator):
    ratios = estimator.ratios().numpy()
  return Evaluation(float(estimator.estimate()), ratios, estimator)
