"""Off-policy evaluation as a library call, for any TF-Agents policy."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy

from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import finite
from srdice_tf import results
from srdice_tf.data import datasets
from srdice_tf.data import episode_rows
from srdice_tf.data import findings
from srdice_tf.data import streamed
from srdice_tf.estimators import interface
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.evaluation import returns
from srdice_tf.evaluation import support
from srdice_tf.experiments import arguments
from srdice_tf.experiments import fitting
from srdice_tf.experiments import logged_arguments
from srdice_tf.experiments import stream_arguments
from srdice_tf.experiments import tasks
from srdice_tf.policies import loading

_CONFIG, _WEIGHTS = 'estimator.json', 'weights'


def load_policy(name: str, env_id: str) -> tf_policy.TFPolicy:
  """Returns a policy by its name, without noise.

  Args:
    name: 'pretrained' for the one that is shipped, the directory of a TF-Agents
      SavedModel, a file of weights, or any other that `run_ope.py --policy`
      takes.
    env_id: the environment that the policy is for.

  Raises:
    UserError: if there is no such policy, or it is for something else.
  """
  name = arguments.policy_name(name)
  env = environments.load(env_id)
  return loading.load(name, env_id, env.observation_spec(), env.action_spec())


def evaluate(
    policy: tf_policy.TFPolicy | str | Callable,
    data: datasets.Dataset | Sequence[episode_rows.Episode] | Mapping | str,
    algos: Sequence[str] | str = ('srdice', 'deep_td'),
    gamma: float = 0.99,
    preset: str = 'paper',
    hyperparameters: Mapping[str, object] | None = None,
    seed: int = 0,
    mdp: finite.FiniteMDP | None = None,
    progress: bool = True,
    columns: str = '',
    accept: Sequence[str] | str = (),
    stream: bool = False,
) -> results.Evaluation:
  """Estimates the value of a policy from logged data.

  Args:
    policy: any TF-Agents TFPolicy, with the specs of the data; a stochastic one
      needs a distribution, from which its actions are drawn by the seed. Or the
      name of a policy, as `run_ope.py --policy` takes it, or a function from
      states [B, ...] to actions [B, ...], in numpy.
    data: episodes, a Dataset made of them, arrays by name with a row for each
      step (`data.from_arrays`), or the name of a file or directory, as
      `run_ope.py --data` takes it.
    algos: names of estimators.
    gamma: discount.
    preset: schedule and rates: 'paper' or 'quick'; for frames also 'fixed'.
    hyperparameters: what differs from the preset, by name, such as
      {'updates': 10_000}; `run_ope.py --helpfull` lists them.
    seed: of everything random.
    mdp: the MDP itself, where it is finite and known.
    progress: whether to show a progress line.
    columns: which columns of a table are what, as `run_ope.py --columns` takes
      them.
    accept: errors in the data that are right there, such as 'time_limit', as
      `run_ope.py --accept` takes them.
    stream: whether data that are named are streamed from a server in another
      process, which reads them, instead of being read into this one's memory;
      'reverb:HOST:PORT' is one of replay_server.py that has them already. So
      are, with a line that says it, data of more than half the free memory.

  Returns:
    An Evaluation with a MethodResult for each of `algos`: value, interval,
    ratios, diagnostics, flow residual, a verdict and the fitted estimator.

  Raises:
    UserError: if data or arguments cannot be used.
  """
  names, numbers = arguments.names(algos), arguments.Numbers(gamma, seed)
  registry.check_names(names, 'algos')
  stream = stream or stream_arguments.is_needed(data)
  with contextlib.ExitStack() as stack:
    if stream:
      data = stack.enter_context(stream_arguments.opened(data, columns, accept))
    policy, data = logged_arguments.policy_and_data(
        policy, data, '' if stream else columns, accept
    )
    if isinstance(data, streamed.StreamedDataset):
      stack.callback(data.close)
    found = _evaluated(
        policy, data, names, numbers, preset, hyperparameters, mdp, progress
    )
  return found


def _evaluated(
    policy, data, names, numbers, preset, hyperparameters, mdp, progress
) -> results.Evaluation:
  chosen = presets.preset(preset, tasks.has_frames(arguments.specs_of(policy)))
  chosen = chosen.replace(**arguments.values(hyperparameters))
  estimators = _make(policy, data, names, numbers, chosen, mdp)
  fit = fitting.Fit(estimators)
  fit.train(show=progress)
  looked_at = streamed.in_memory(data)
  found = fit.found(support.of_policy(looked_at, policy, numbers.seed))
  return results.Evaluation(
      methods=found,
      gamma=numbers.gamma,
      seed=numbers.seed,
      num_transitions=data.num_transitions,
      num_episodes=data.num_initial_states,
      mean_reward=float(np.mean(data.rewards)),
      logged=returns.of_dataset(data, numbers.gamma),
  )


def save(estimator: interface.Estimator, directory: str):
  """Saves a fitted estimator; `load` needs the same policy and data."""
  if not isinstance(estimator, interface.Estimator):
    raise errors.at(
        'estimator',
        f'found {arguments.kind(estimator)}',
        'expected the estimator of a MethodResult',
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
          'hyperparameters': estimator.shared.hyperparameters.changes(),
      },
  )


def load(
    directory: str,
    policy,
    data,
    mdp: finite.FiniteMDP | None = None,
    columns: str = '',
) -> results.MethodResult:
  """Returns what `save` saved, without training.

  Args:
    directory: where it was saved.
    policy: the target policy, as for `evaluate`.
    data: the data whose ratios and value are wanted.
    mdp: as for `evaluate`.
    columns: as for `evaluate`.

  Raises:
    UserError: if there is no estimator, or it does not fit the data.
  """
  name, numbers, hyperparameters = _read(os.path.join(directory, _CONFIG))
  # What was evaluated once has been accepted.
  policy, data = logged_arguments.policy_and_data(
      policy, data, columns, findings.ACCEPTABLE
  )
  made = _make(policy, data, (name,), numbers, hyperparameters, mdp)
  checkpoint = tf.train.Checkpoint(estimator=made[name])
  try:
    status = checkpoint.read(os.path.join(directory, _WEIGHTS))
    status.expect_partial().assert_existing_objects_matched()
  except Exception as error:  # What damage raises depends on where it is.
    raise _unreadable(directory, error) from error
  for phase in made[name].phases:
    phase.prepare()
  return fitting.Fit(made).found()[name]


def _read(path: str):
  """Returns name, numbers and hyper-parameters that `save` wrote."""
  try:
    with open(path) as file:
      saved = json.load(file)
    numbers = arguments.Numbers(saved['gamma'], saved['seed'])
    values = presets.preset('paper', is_frames=False)
    values = values.replace(**saved['hyperparameters'])
    registry.check_names([saved['algo']])
    return saved['algo'], numbers, values
  except (
      OSError, ValueError, TypeError, KeyError, errors.UserError
  ) as error:
    raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> errors.UserError:
  reason = (str(error).strip() or type(error).__name__).splitlines()[0]
  return errors.at(
      path,
      f'no estimator that fits can be read there ({reason})',
      'expected what `save` wrote',
  )


def _make(policy, data, names, numbers, hyperparameters, mdp):
  """Returns the estimators by name, after all checks."""
  registry.check_names(names)
  arguments.check_data(policy, data)
  arguments.check_mdp(policy, mdp)
  problem = tasks.make_problem(
      policy, data, arguments.specs_of(policy), numbers.gamma, mdp
  )
  return registry.make_estimators(
      names, problem, hyperparameters, numbers.seed
  )
