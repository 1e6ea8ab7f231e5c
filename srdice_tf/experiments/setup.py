"""Environment, policies, data set and true values of an evaluation."""

import dataclasses

import numpy as np
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import problem as problem_lib
from srdice_tf.networks import frames
from srdice_tf.networks import inputs as inputs_lib
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import checks
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import client as client_lib
from srdice_tf.replay import dataset as dataset_lib
from srdice_tf.replay import directory as directory_lib
from srdice_tf.replay import reader
from srdice_tf.replay import server as server_lib
from srdice_tf.replay import storage


@dataclasses.dataclass(frozen=True)
class TaskConfig:
  """What is evaluated, and from which data.

  Attributes:
    env_id: the environment.
    policy: name of the base policy.
    setting: of the behaviour policy; '' for the environment's default.
    num_transitions: of the data set; 0 for the setting's.
    gamma: discount.
    truth_episodes: roll-outs for each true value; 0: until its standard error
      is below 0.5% (`evaluation.truth.measure`); the paper's form: 100.
    truth_max_episodes: the most roll-outs where their number is not given.
    keep_time_limit: cut roll-outs at the environment's time limit, as in the
      paper; if not, they go on until gamma^t is negligible.
    policy_checksum: of the base policy, which `Task` fills in: a name such as
      'pretrained' may mean another policy tomorrow.
  """

  env_id: str
  policy: str = 'pretrained'
  setting: str = ''
  num_transitions: int = 0
  gamma: float = 0.99
  truth_episodes: int = ranges.at_least(0, 0)
  truth_max_episodes: int = ranges.at_least(2, 1000)
  keep_time_limit: bool = False
  policy_checksum: str = ''

  def __post_init__(self):
    ranges.check(self)
    if self.truth_episodes == 1:
      raise errors.UserError(
          '--truth_episodes=1: one roll-out has no standard error; expected 0'
          ' (as many as it takes) or at least 2.'
      )


class Task:
  """The environment's specs and the policies of a config."""

  def __init__(self, config: TaskConfig):
    env = environments.load(config.env_id)
    self.codec = collection.codec_of(env)
    self._specs = env.observation_spec(), env.action_spec()
    self.setting_name = config.setting or settings.default_setting(
        env.action_spec(), env.observation_spec()
    )
    self._setting = settings.setting(self.setting_name, env.action_spec())
    base_policy = loading.load(config.policy, config.env_id, *self._specs)
    other_policy = loading.load_behaviour(
        config.policy, self.setting_name, config.env_id, *self._specs
    )
    self.config = dataclasses.replace(
        config, policy_checksum=loading.checksum(base_policy)
    )
    self._behaviour_checksum = loading.checksum(other_policy)
    self.target = settings.target_policy(base_policy)
    self.behaviour = settings.behaviour_policy(other_policy, self._setting)
    noise = dataclasses.asdict(self._setting)
    del noise['num_transitions']
    # All that the true values depend on, beside the environment.
    self.policy_descriptions = {
        'target': {
            'checksum': self.config.policy_checksum,
            'target_sigma': settings.TARGET_SIGMA,
        },
        'behaviour': {
            'checksum': self._behaviour_checksum,
            'setting': self.setting_name,
            **noise,
        },
    }

  def dataset(self, path: str, seed: int) -> dataset_lib.Dataset:
    """Returns the data set in `path`, collected if it is not there."""
    number = self.config.num_transitions or self._setting.num_transitions
    directory = directory_lib.DatasetDirectory(path)
    is_there = directory.exists() and (
        directory.read()['status'] == directory_lib.COMPLETE
    )
    if not is_there:
      collect_config = collection.CollectConfig(
          env_id=self.config.env_id,
          policy=self.config.policy,
          policy_checksum=self._behaviour_checksum,
          setting=self.setting_name,
          num_transitions=number,
          seed=seed,
          num_envs=collection.default_num_envs(number),
      )
      with server_lib.ReplayServer(directory, number) as server:
        collection.collect(collect_config, self.behaviour, server)
    environment = environments.description(self.config.env_id)
    dataset = storage.load_dataset(path, self.codec, environment)
    check_dataset(dataset, path)
    return dataset

  def served_dataset(
      self, address: str, timeout: float
  ) -> dataset_lib.Dataset:
    """Returns the data set of a server that answers within `timeout` s."""
    client = client_lib.ReplayClient(address, timeout)
    environment = environments.description(self.config.env_id)
    for description in client.metadata().values():
      if description['environment'] != environment:
        raise errors.UserError(
            f'--reverb_address={address}: its data are of'
            f' {description["environment"]}, asked for is {environment}.'
        )
    dataset = reader.read_dataset(client, self.codec)
    check_dataset(dataset, address)
    return dataset

  def problem(self, dataset: dataset_lib.Dataset) -> problem_lib.Problem:
    """Returns what estimators are built from."""
    mdp = environments.mdp_of(self.config.env_id)
    return make_problem(
        self.target, dataset, self._specs, self.config.gamma, mdp
    )


def make_problem(
    policy, dataset, specs, gamma: float, mdp=None
) -> problem_lib.Problem:
  """Returns the problem of evaluating any TF-Agents policy on a data set."""
  if not 0.0 < gamma < 1.0:
    raise errors.UserError(f'--gamma={gamma}: must lie between 0 and 1.')
  make_inputs = (
      frames.FrameInputs if has_frames(specs) else inputs_lib.VectorInputs
  )
  with checks.one_line():
    return problem_lib.Problem(
        dataset, actions.target_actions(policy), make_inputs(*specs), gamma,
        mdp=mdp,
    )


def preset(env_id: str, name: str) -> config_lib.Config:
  """Returns the hyper-parameters that a preset has for an environment."""
  return config_lib.preset(name, environments.has_frames(env_id))


def has_frames(specs) -> bool:
  """Returns whether specs are of stacks of frames with discrete actions."""
  observation_spec, action_spec = specs
  return len(observation_spec.shape) == 3 and base.is_discrete(action_spec)


def check_dataset(dataset: dataset_lib.Dataset, path: str):
  """Raises an error if a data set cannot be learned from."""
  if not dataset.num_transitions:
    raise errors.UserError(f'--dataset_dir={path}: there are no transitions.')
  if not dataset.num_initial_states:
    raise errors.UserError(f'--dataset_dir={path}: there are no start states.')
  if getattr(dataset, 'not_done', None) is None:
    raise errors.UserError(
        f'--dataset_dir={path}: there are no terminal flags; expected not_done,'
        ' 0 where a transition ends in a terminal state, else 1.'
    )
  for name in ('rewards', 'actions', 'not_done'):
    _check_finite(getattr(dataset, name), name, path)
  other = np.setdiff1d(dataset.not_done.numpy(), [0.0, 1.0])
  if other.size:
    raise errors.UserError(
        f'--dataset_dir={path}: not_done has the value {other[0]}; terminal'
        ' flags are 0 or 1.'
    )
  if dataset.states(tf.constant([0])).dtype.is_integer:
    return
  for index in problem_lib.chunks(dataset.num_transitions):
    _check_finite(dataset.states(index), 'states', path)
    _check_finite(dataset.next_states(index), 'states', path)


def _check_finite(values, name: str, path: str):
  values = values.numpy()
  if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
    count = int(np.sum(~np.isfinite(values)))
    raise errors.UserError(
        f'--dataset_dir={path}: {count} values of {name} are NaN or infinite.'
    )
