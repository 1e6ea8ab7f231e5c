"""Random rewards: how good the ratios of a finished run are for any reward.

The right ratio gives the value of the target policy for all reward functions.
So its ratios are tried with many random networks r(s, a), whose true values
are known from roll-outs of the target policy.
"""

import dataclasses
import itertools
import json
import os

import numpy as np
import tensorflow as tf

from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf import results
from srdice_tf.data import datasets
from srdice_tf.data import streamed
from srdice_tf.evaluation import rollouts
from srdice_tf.evaluation import trajectories
from srdice_tf.experiments import fitted_ratios
from srdice_tf.experiments import reward_functions
from srdice_tf.experiments import reward_tables
from srdice_tf.experiments import truths
from srdice_tf.logging import progress
from srdice_tf.networks import vector_inputs

TABLE = 'random_rewards.csv'
IDENTITY = 'dataset_checksum', 'ratios_checksum'
BEHAVIOUR = reward_tables.BEHAVIOUR
_ADVICE = 'remove it to compute it again'
_NUM_BLOCKS = 16  # Of streamed data, whose rewards are computed together.


@dataclasses.dataclass(frozen=True)
class RandomRewardsConfig(reward_functions.RewardConfig):
  """The rewards, and the run whose ratios are tried.

  Attributes:
    run_dir: of a finished run.
    dataset_dir: its data set; '' for where it was.
    num_trajectories: roll-outs of the target policy for the true values.
    least_truth: a reward with a smaller true value is left out, since it is
      nearly the same everywhere.
    most_truth: so is one with a larger true value.
  """

  run_dir: str = ''
  dataset_dir: str = ''
  num_trajectories: int = ranges.at_least(2, rollouts.BATCH_SIZE)
  least_truth: float = ranges.share(0.1)
  most_truth: float = ranges.share(0.9)

  def __post_init__(self):
    ranges.check(self)


# The study is the same wherever the run and its data are kept.
_CHANGEABLE = ('run_dir', 'dataset_dir')


def run(config: RandomRewardsConfig, directory: str) -> results.RandomRewards:
  """Tries the ratios of a run, or reads what an earlier call found.

  Args:
    config: what to try.
    directory: where random_rewards.csv is, or will be: a row for each reward
      and method. It is locked meanwhile.

  Raises:
    UserError: if the run is not finished, or anything has changed since.
  """
  found = fitted_ratios.FittedRatios(config.run_dir)
  content = {**dataclasses.asdict(config), **found.identity}
  config_file.check(directory, content, _CHANGEABLE, (TABLE,))
  with config_file.hold(directory):
    path = os.path.join(directory, TABLE)
    if os.path.exists(path):
      return reward_tables.read(path)
    ratios, evaluation = found.ratios(), found.evaluation
    ratios[BEHAVIOUR] = np.ones(evaluation.num_transitions)
    inputs = _inputs(found.task.config.env_id)
    with found.dataset(config.dataset_dir) as data:
      truth = _truths(config, found, inputs)
      study = _study(config, evaluation, inputs, data, ratios, truth)
    config_file.claim(directory, content, _CHANGEABLE, (TABLE,))
    reward_tables.write(path, study)
    return study


def find(
    config: RandomRewardsConfig, directory: str
) -> results.RandomRewards | None:
  """Returns what an earlier call found, if anything.

  The ratios themselves are not needed: a run may be known by its results only.

  Raises:
    UserError: if it was of another run, or other rewards.
  """
  path = os.path.join(directory, TABLE)
  if not os.path.exists(path):
    return None
  identity = fitted_ratios.identity(config.run_dir)
  content = {**dataclasses.asdict(config), **identity}
  lacking = {'ratios_checksum'} - set(identity)
  config_file.check(directory, content, (*_CHANGEABLE, *lacking), (TABLE,))
  return reward_tables.read(path)


def _inputs(env_id: str) -> vector_inputs.VectorInputs:
  env = environments.load(env_id)
  return vector_inputs.VectorInputs(env.observation_spec(), env.action_spec())


def _truths(
    config: RandomRewardsConfig, found: fitted_ratios.FittedRatios, inputs
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the true value of each reward and its standard error, [R] each.

  They are kept beside the other true values of the environment, for the runs
  of other seeds.
  """
  task = found.task
  roll_outs = rollouts.RollOutConfig(
      task.config.env_id,
      task.config.gamma,
      keep_time_limit=task.config.keep_time_limit,
  )
  description = {
      **dataclasses.asdict(roll_outs),
      'environment': environments.description(task.config.env_id),
      'policy': task.policy_descriptions['target'],
      'num_trajectories': config.num_trajectories,
      'rewards': config.description,
  }

  def measure():
    rows = trajectories.sample(
        roll_outs, task.target, config.num_trajectories
    )
    return _measure(config, rows, inputs)

  return _kept(found.truth_dir, description, measure)


def _measure(
    config: RandomRewardsConfig, rows: trajectories.Trajectories, inputs
) -> tuple[np.ndarray, np.ndarray]:
  pairs = inputs(tf.constant(rows.states), tf.constant(rows.actions))  # [N, D]
  functions = reward_functions.RewardFunctions(config, inputs.size)
  values = []
  for rewards in _counted(functions, range(config.num_rewards), pairs, 'true'):
    values.append(rows.values(rewards))  # [E]
  values = np.array(values)  # [R, E]
  deviations = values.std(axis=1, ddof=1)
  return values.mean(axis=1), deviations / np.sqrt(rows.num_episodes)


def _counted(functions, numbers, pairs, label: str):
  """Yields the rewards [N] of each function, with a progress line."""
  with progress.Progress(len(numbers), 'rewards', label) as bar:
    for done, number in enumerate(numbers, 1):
      yield functions(number, pairs)
      bar.update(done)


def _kept(directory: str, description: dict, measure):
  """Returns what was measured under this description, or measures it.

  If another process is at it, this one waits.

  Raises:
    UserError: if the file is damaged.
  """
  text = json.dumps(description, sort_keys=True)
  name = f'random_rewards_{truths.checksum(description)[:16]}.npz'
  path = os.path.join(directory, name)
  os.makedirs(directory, exist_ok=True)
  with truths.locked(f'{path}.lock'):
    if not os.path.exists(path):
      values, deviations = measure()
      with open(f'{path}.tmp', 'wb') as file:
        np.savez(file, of=text, truths=values, errors=deviations)
      os.replace(f'{path}.tmp', path)
    arrays = fitted_ratios.read_arrays(path, _ADVICE)
  if str(arrays.get('of')) != text:
    raise errors.at(path, 'is of other rewards', _ADVICE)
  return arrays['truths'], arrays['errors']


def _means(functions, numbers, weights, inputs, data) -> np.ndarray:
  """Returns the mean over the data of each weight times each reward, [M, K].

  Args:
    functions: the rewards.
    numbers: K of them.
    weights: [M, n] of the transitions.
    inputs: makes vectors of states and actions.
    data: n transitions, maybe streamed.
  """
  size = data.num_transitions
  sums, done = np.zeros((len(weights), len(numbers))), 0.0
  with progress.Progress(len(numbers), 'rewards', 'estimate') as bar:
    for index, states, actions in _transitions(data):
      pairs = inputs(tf.constant(states), tf.constant(actions))  # [B, D]
      own = weights[:, index]  # [M, B]
      for k, number in enumerate(numbers):
        sums[:, k] += own @ functions(number, pairs)
        done += own.shape[1] / size
        bar.update(round(done))
  return sums / size


def _transitions(data):
  """Yields index, states and actions: all at once, or of some blocks each."""
  if not isinstance(data, streamed.StreamedDataset):
    states = data.states(tf.range(data.num_transitions))
    yield slice(None), states, data.actions
    return
  blocks = data.each_block()
  while some := list(itertools.islice(blocks, _NUM_BLOCKS)):
    parts = [(b.index, b.rows[b.positions], b.actions) for b in some]
    yield tuple(map(np.concatenate, zip(*parts)))


def _study(
    config: RandomRewardsConfig,
    evaluation: results.Evaluation,
    inputs: vector_inputs.VectorInputs,
    data: datasets.Dataset | streamed.StreamedDataset,
    ratios: dict[str, np.ndarray],
    truth: tuple[np.ndarray, np.ndarray],
) -> results.RandomRewards:
  """Returns the estimates for the rewards whose true value says something.

  Raises:
    UserError: if there is no such reward.
  """
  values, deviations = truth
  is_kept = (values >= config.least_truth) & (values <= config.most_truth)
  (numbers,) = np.nonzero(is_kept)
  functions = reward_functions.RewardFunctions(config, inputs.size)
  weights = np.stack(list(ratios.values()))  # [M, n]
  found = _means(functions, numbers, weights, inputs, data)  # [M, K]
  estimates = dict(zip(ratios, found))
  means = estimates[BEHAVIOUR]
  # Where the data never see the reward, nothing can be divided by its mean.
  seen = means > 0.0
  numbers, means = numbers[seen], means[seen]
  estimates = {name: each[seen] for name, each in estimates.items()}
  if not len(numbers):
    raise errors.UserError(
        'num_rewards',
        config.num_rewards,
        f'none has a true value from {config.least_truth} to'
        f' {config.most_truth}; draw more',
    )
  return results.RandomRewards(
      env_id=evaluation.env_id,
      setting=evaluation.setting,
      seed=evaluation.seed,
      numbers=numbers,
      truths=values[numbers],
      truth_errors=deviations[numbers],
      data_means=means,
      estimates=estimates,
      log_mses=reward_tables.log_mses(estimates, values[numbers], means),
  )
