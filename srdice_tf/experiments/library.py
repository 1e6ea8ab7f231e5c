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
    policy: any TF-Agents TFPolicy, with the specs of the data.
    dataset: a replay.Dataset, such as storage.load_dataset returns.
    algo: name of an estimator.
    gamma: discount.
    config: hyper-parameters; default: the paper's.
    seed: of everything random.
    mdp: the MDP itself, where it is finite and known.

  Raises:
    UserError: if data or arguments cannot be used.
  """
  if config is None:
    specs = policy.time_step_spec.observation, policy.action_spec
    config = config_lib.preset('paper', setup.has_frames(specs))
  estimator = _make(policy, dataset, algo, gamma, config, seed, mdp)
  training.Trainer({algo: estimator}).run()
  return _evaluation(estimator)


def save(estimator: base.Estimator, directory: str):
  """Saves a fitted estimator; `load` needs the same policy and data."""
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
  try:
    with open(os.path.join(directory, _CONFIG)) as file:
      saved = json.load(file)
    config = config_lib.Config(**saved['config'])
    estimator = _make(
        policy,
        dataset,
        saved['algo'],
        saved['gamma'],
        config,
        saved['seed'],
        mdp,
    )
    checkpoint = tf.train.Checkpoint(estimator=estimator)
    checkpoint.read(os.path.join(directory, _WEIGHTS)).expect_partial()
  except (OSError, ValueError, TypeError, KeyError, tf.errors.OpError) as error:
    reason = str(error).strip().splitlines()[0]
    raise errors.UserError(
        f'{directory}: no estimator that fits can be read there ({reason}).'
    ) from error
  for phase in estimator.phases:
    phase.prepare()
  return _evaluation(estimator)


def _make(policy, dataset, algo, gamma, config, seed, mdp) -> base.Estimator:
  setup.check_dataset(dataset, 'the data set')
  specs = policy.time_step_spec.observation, policy.action_spec
  _check_shapes(specs, dataset)
  problem = setup.make_problem(policy, dataset, specs, gamma, mdp)
  return registry.make_estimators([algo], problem, config, seed)[algo]


def _check_shapes(specs, dataset):
  first = tf.constant([0])
  for name, spec, found in (
      ('observations', specs[0], dataset.states(first)[0]),
      ('actions', specs[1], dataset.actions[0]),
  ):
    if found.shape != spec.shape:
      raise errors.UserError(
          f"policy: its {name} have shape {list(spec.shape)}, the data set's"
          f' {list(found.shape)}.'
      )


def _evaluation(estimator: base.Estimator) -> Evaluation:
  ratios = None
  if isinstance(estimator, base.RatioEstimator):
    ratios = estimator.ratios().numpy()
  return Evaluation(float(estimator.estimate()), ratios, estimator)
