"""Environment, policies, data set and true values of an evaluation."""

import contextlib
import dataclasses
import os

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges
from srdice_tf.data import check
from srdice_tf.data import datasets
from srdice_tf.data import sources
from srdice_tf.data import streamed
from srdice_tf.data.sources import private_server
from srdice_tf.data.sources import served_segments
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import presets
from srdice_tf.estimators import problems
from srdice_tf.estimators import streamed_problems
from srdice_tf.experiments import provenance
from srdice_tf.experiments import truth_fields
from srdice_tf.networks import frame_networks
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import action_checks
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import clients
from srdice_tf.replay import directories
from srdice_tf.replay import servers


@dataclasses.dataclass(frozen=True)
class TaskConfig(truth_fields.TruthFields, settings.Noise):
  """What is evaluated, and from which data.

  What is left open is filled in by `Task`, with the numbers of both noises, and
  by the data, where there are some.

  Attributes:
    env_id: the environment.
    policy: name of the base policy; '' for that of the data, or the shipped.
    setting: of the behaviour policy; '' for the environment's default.
    num_transitions: of the data set; 0 for the setting's.
    gamma: discount.
    behaviour_policy: name of the base policy that makes the data; '' for
      `policy`, and for another shipped agent in the setting 'separate'.
    num_envs: environments that step together; 0 for as many as are fast.
    policy_checksum: of the base policy, which `Task` fills in: a name such as
      'pretrained' may mean another policy tomorrow.
    behaviour_checksum: of the base policy that makes the data, likewise.
  """

  env_id: str
  policy: str = ''
  setting: str = ''
  num_transitions: int = ranges.at_least(0, 0)
  gamma: float = ranges.inside(0, 1, 0.99)
  behaviour_policy: str = ''
  num_envs: int = ranges.between(0, limits.MOST_ENVS, 0)
  policy_checksum: str = ''
  behaviour_checksum: str = ''

  names_data = False  # They are collected, or in a directory that is named.

  @property
  def name(self) -> str:
    """What directories of runs are called."""
    return f'{self.env_id.replace("/", "_")}_{self.setting}'

  @property
  def hparams(self) -> dict:
    """What TensorBoard compares runs by."""
    return {
        'env': self.env_id,
        'setting': self.setting,
        'gamma': self.gamma,
        'num_transitions': self.num_transitions,
    }


class Task:
  """The environment's specs and the policies of a config.

  Attributes:
    config: the TaskConfig, with nothing left open.
    environment: description of the environment.
    codec: of its rows.
    base: the base policy, without noise.
    target: the policy that is evaluated.
    behaviour: the policy that makes the data; None if it is not at hand and
      nobody asks for its value.
    data_name: what reports call data that were not collected here.
    notes: what is odd about such data.
  """

  data_name, notes = '', ()

  def __init__(self, config: TaskConfig):
    """Loads the policies.

    Raises:
      UserError: if a policy is not there, or a setting not of these actions.
    """
    env = environments.load(config.env_id)
    self.environment = environments.description(config.env_id)
    self.codec = collection.codec_of(env)
    self._specs = env.observation_spec(), env.action_spec()
    name = config.setting or settings.default_setting(*self._specs[::-1])
    setting = settings.setting(name, env.action_spec(), config)
    policy = config.policy or loading.PRETRAINED
    self.base = loading.load(policy, config.env_id, *self._specs)
    behaviour = config.behaviour_policy or loading.behaviour_name(policy, name)
    other = self._other(behaviour, policy, config)
    noise = settings.for_policies(
        setting, config, self.base, other, loading.is_shipped(policy)
    )
    size = config.num_transitions or setting.num_transitions
    self.config = dataclasses.replace(
        config,
        policy=policy,
        behaviour_policy=behaviour,
        setting=name,
        num_transitions=size,
        num_envs=config.num_envs
        or collection.default_num_envs(config.env_id, size),
        policy_checksum=loading.checksum(self.base),
        behaviour_checksum=(
            loading.checksum(other) if other else config.behaviour_checksum
        ),
        **{number: getattr(noise, number) for number in settings.NUMBERS},
    )
    self._check_separate()
    self.target = settings.target_policy(self.base, noise.target_sigma)
    self.behaviour = other and settings.behaviour_policy(other, noise)

  @property
  def policy_descriptions(self) -> dict[str, dict]:
    """All that the true values depend on, beside the environment."""
    config = self.config
    numbers = settings.BEHAVIOUR_NUMBERS
    return {
        'target': {
            'checksum': config.policy_checksum,
            'target_sigma': config.target_sigma,
        },
        'behaviour': {
            'checksum': config.behaviour_checksum,
            'setting': config.setting,
            **{number: getattr(config, number) for number in numbers},
        },
    }

  def _other(self, name: str, policy: str, config: TaskConfig):
    """Returns the base policy that makes the data.

    Data that are there need it for its true value only: without truth it may
    be missing. Their description has its checksum.
    """
    if name == policy:
      return self.base
    try:
      return loading.load(
          name, config.env_id, *self._specs, 'behaviour_policy'
      )
    except errors.UserError:
      if not config.has_rollouts and config.behaviour_checksum:
        return None
      raise

  def _check_separate(self):
    config = self.config
    is_same = config.policy_checksum == config.behaviour_checksum
    if config.setting == settings.SEPARATE and is_same:
      raise errors.UserError(
          'setting',
          config.setting,
          f'the behaviour policy {config.behaviour_policy} is the one that is'
          ' evaluated; name another agent with behaviour_policy',
      )

  def collect_config(
      self, seed: int, collector: int = 0
  ) -> collection.CollectConfig:
    """Returns the whole description of the data that the task asks for."""
    config = self.config
    numbers = settings.BEHAVIOUR_NUMBERS
    return collection.CollectConfig(
        env_id=config.env_id,
        policy=config.behaviour_policy,
        policy_checksum=config.behaviour_checksum,
        setting=config.setting,
        num_transitions=config.num_transitions,
        seed=seed,
        num_envs=config.num_envs,
        collector=collector,
        **{number: getattr(config, number) for number in numbers},
    )

  def dataset_dir(self, root: str, seed: int) -> str:
    """Returns where the data are kept, which no other request shares."""
    return os.path.join(root, self.collect_config(seed).directory_name)

  def dataset(self, path: str, seed: int) -> datasets.Dataset:
    """Returns the data set in `path`, collected if it is not there.

    Raises:
      UserError: if other data are there.
    """
    self._ensure_collected(path, seed)
    load = sources.SOURCES['collected']
    dataset = load(path, self.codec, self.environment)
    check.check_usable(dataset, f'dataset_dir={path}')
    return dataset

  def _ensure_collected(self, path: str, seed: int):
    found = provenance.of_directory(path)
    if found is not None:
      found.follow(self.config, seed)
      found.check_policy(self.config, self.config)
    if found is None or found.can_go_on:
      self._collect(path, seed)

  def streamed(
      self, path: str, address: str, seed: int, timeout: float, scratch: str
  ) -> contextlib.AbstractContextManager[streamed.StreamedDataset]:
    """Returns a context with the same data, little of them in memory.

    Args:
      path: of the data set, collected if it is not there.
      address: of a server that has the data instead; '' if there is none.
      seed: of the data.
      timeout: seconds to wait for a server.
      scratch: directory for columns in files.

    Raises:
      UserError: if other data are there, or they cannot be used.
    """
    if not address:
      self._ensure_collected(path, seed)
      return private_server.directory(
          path, self.codec, self.environment, timeout, scratch
      )
    client = self._client(address, seed, timeout)
    dataset = served_segments.load(client, self.codec, scratch)
    return contextlib.nullcontext(dataset)

  @property
  def data_bytes(self) -> int:
    """Returns how much memory the data take."""
    return self.config.num_transitions * self.codec.row_bytes

  def check_memory(self):
    """Raises an error if this machine cannot hold the data."""
    limits.check_memory(
        'num_transitions',
        self.config.num_transitions,
        lambda size: size * self.codec.row_bytes,
    )

  def _collect(self, path: str, seed: int):
    self.check_memory()
    config = self.collect_config(seed)
    directory = directories.DatasetDirectory(path)
    with servers.ReplayServer(directory, config.num_transitions) as server:
      collection.collect(config, self.behaviour, server)

  def served_dataset(
      self, address: str, seed: int, timeout: float
  ) -> datasets.Dataset:
    """Returns the data set of a server that answers within `timeout` s.

    Raises:
      UserError: if it is not full, or its data are other ones.
    """
    client = self._client(address, seed, timeout)
    dataset = sources.SOURCES['reverb_server'](client, self.codec)
    check.check_usable(dataset, f'reverb_address={address}')
    return dataset

  def _client(self, address, seed, timeout) -> clients.ReplayClient:
    """Returns a client of the server, whose data are those of the task."""
    client = clients.ReplayClient(address, timeout)
    found = provenance.of_server(client)
    found.follow(self.config, seed)
    found.check_policy(self.config, self.config)
    return client

  def problem(self, dataset: datasets.Dataset) -> problems.Problem:
    """Returns what estimators are built from."""
    mdp = environments.mdp_of(self.config.env_id)
    return make_problem(
        self.target, dataset, self._specs, self.config.gamma, mdp
    )


def policy_with_noise(config: TaskConfig, noise: str):
  """Returns a policy by its noise, and the name of its base policy.

  Args:
    config: of the policies.
    noise: 'target' or 'none', around the policy that is evaluated, or the
      setting of a behaviour policy.

  Raises:
    UserError: if a number is set that plays no part.
  """
  behaviour = (*settings.BEHAVIOUR_NUMBERS, 'behaviour_policy')
  used = {'target': ('target_sigma',), 'none': ()}.get(noise, behaviour)
  for name in ('target_sigma', *behaviour):
    value = getattr(config, name)
    if name not in used and value not in (None, ''):
      raise errors.UserError(name, value, f'plays no part with noise={noise}')
  if noise in ('target', 'none'):
    task = Task(config)
    return task.target if noise == 'target' else task.base, task.config.policy
  task = Task(dataclasses.replace(config, setting=noise))
  return task.behaviour, task.config.behaviour_policy


def make_problem(
    policy, dataset, specs, gamma: float, mdp=None
) -> problems.Problem:
  """Returns the problem of evaluating any TF-Agents policy on a data set."""
  if not 0.0 < gamma < 1.0:
    raise errors.UserError('gamma', gamma, 'must lie between 0 and 1')
  make_inputs = vector_inputs.VectorInputs
  if has_frames(specs):
    make_inputs = frame_networks.FrameInputs
  kind = problems.Problem
  if isinstance(dataset, streamed.StreamedDataset):
    kind = streamed_problems.StreamedProblem
  with action_checks.one_line():
    return kind(
        dataset, actions.target_actions(policy), make_inputs(*specs), gamma,
        mdp=mdp,
    )


def preset(env_id: str, name: str) -> hyperparameters.Hyperparameters:
  """Returns the hyper-parameters that a preset has for an environment."""
  return presets.preset(name, environments.has_frames(env_id))


def has_frames(specs) -> bool:
  """Returns whether specs are of stacks of frames with discrete actions."""
  observation_spec, action_spec = specs
  return len(observation_spec.shape) == 3 and base.is_discrete(action_spec)
