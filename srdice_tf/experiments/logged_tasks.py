"""An evaluation from logged data alone; an environment is not needed."""

import atexit
import contextlib
import dataclasses
import functools
import os
import re

from tf_agents.specs import tensor_spec

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.data import check
from srdice_tf.data import datasets
from srdice_tf.data import findings
from srdice_tf.data import opening
from srdice_tf.data import streamed
from srdice_tf.data.sources import private_server
from srdice_tf.estimators import problems
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truth_fields
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import settings

_NOT_IN_NAMES = re.compile(r'[^\w.-]+')
_VERSION = re.compile(r'[\d.]+')


@dataclasses.dataclass(frozen=True)
class LoggedTaskConfig(truth_fields.TruthFields):
  """Which logged data, and which policy is evaluated on them.

  Attributes:
    data: a file, a directory or a name, as `opening.open_data` takes it.
    policy: name of the policy, or a file of its actions at next and start
      states; it is evaluated as it is.
    columns: what the columns of a table mean.
    env_id: an environment that gives the specs, and true values by roll-outs;
      '' if there is none.
    gamma: discount.
    target_sigma: of Gaussian noise around the policy; None for none, but for a
      shipped one the paper's.
    accept: what `findings` calls errors and the user knows to be right, names
      with commas between them.
    policy_checksum: of the policy, which `LoggedTask` fills in.
  """

  data: str
  policy: str
  columns: str = ''
  env_id: str = ''
  gamma: float = ranges.inside(0, 1, 0.99)
  target_sigma: float | None = ranges.at_least(0, None)
  accept: str = ''
  policy_checksum: str = ''

  names_data = True
  setting = ''  # Nobody knows how the data were made.

  def __post_init__(self):
    super().__post_init__()
    if self.has_rollouts and not self.env_id:
      raise errors.UserError(
          'truth', self.truth, 'roll-outs need an environment, env=ID'
      )
    if not self.policy:
      raise errors.UserError(
          'policy', '', 'expected the policy that is evaluated on the data'
      )

  @property
  def name(self) -> str:
    """What directories of runs are called."""
    stems = _stem(self.data), _stem(self.policy)
    return '_'.join(_NOT_IN_NAMES.sub('_', stem) for stem in stems)

  @property
  def hparams(self) -> dict:
    """What TensorBoard compares runs by."""
    return {
        'env': self.env_id,
        'data': self.data,
        'policy': self.policy,
        'gamma': self.gamma,
    }


def _stem(path: str) -> str:
  """Returns the last part of a path; of versions, as RLDS has, the last two."""
  directory, name = os.path.split(os.path.normpath(path))
  if _VERSION.fullmatch(name):
    return f'{os.path.basename(directory)}_{name}'
  return os.path.splitext(name)[0]


class LoggedTask:
  """Logged data and a policy for them.

  Attributes:
    config: the LoggedTaskConfig, with nothing left open.
    target: the policy that is evaluated; None if only its actions are known.
    behaviour: None, for nobody knows it.
    notes: what was assumed of the data or is odd about them, as lines.
  """

  behaviour = None

  def __init__(
      self,
      config: LoggedTaskConfig,
      server_timeout: float = opening.TIMEOUT_SECONDS,
      stream: bool = False,
  ):
    """Reads the data and loads the policy.

    Args:
      config: which data, which policy.
      server_timeout: seconds to wait for a server.
      stream: whether the data are streamed, from a process that reads them.

    Raises:
      UserError: if data or policy cannot be used, or do not fit each other.
    """
    logged = _logged(config, server_timeout, stream)
    logged = _with_bounds(logged, config.env_id)
    self._dataset = logged.dataset
    self.notes = logged.notes
    if not stream:  # Else the process that reads them has done so.
      env_id = config.env_id or logged.env_id
      self.notes += tuple(findings.check_logged(
          logged,
          f'data={config.data}',
          _time_limit(env_id),
          _list(config.accept),
      ))
    given = loading.load(
        config.policy,
        config.env_id,
        logged.observation_spec,
        logged.action_spec,
        bounds_known=logged.bounds_known,
    )
    sigma = config.target_sigma
    takes_noise = settings.takes_noise(given)
    if sigma is None and takes_noise and loading.is_shipped(config.policy):
      sigma = settings.TARGET_SIGMA
    self.target = settings.target_policy(given, sigma)
    if sigma and not takes_noise:
      raise errors.UserError(
          'target_sigma',
          sigma,
          f'plays no part with policy={config.policy}; noise is added to'
          ' deterministic policies of continuous actions',
      )
    self._specs = logged.observation_spec, self.target.action_spec
    check.check_specs(streamed.in_memory(self._dataset), *self._specs)
    self.config = dataclasses.replace(
        config, policy_checksum=loading.checksum(given), target_sigma=sigma
    )

  # They are in memory already, here or in the process that serves them.
  data_bytes = 0

  @property
  def data_name(self) -> str:
    """What reports call the data."""
    return self.config.data

  @property
  def policy_descriptions(self) -> dict[str, dict]:
    """All that the true value depends on, beside the environment."""
    return {
        'target': {
            'checksum': self.config.policy_checksum,
            'target_sigma': self.config.target_sigma,
        }
    }

  def dataset_dir(self, root: str, seed: int) -> str:
    """Returns '': the data are where the user has them."""
    del root, seed
    return ''

  def dataset(self, path: str, seed: int) -> datasets.Dataset:
    """Returns the data."""
    del path, seed
    return self._dataset

  def streamed(self, path, address, seed, timeout, scratch):
    """Returns a context with the data, which are streamed if asked for so."""
    del path, address, seed, timeout, scratch
    return contextlib.nullcontext(self._dataset)

  def problem(self, dataset: datasets.Dataset) -> problems.Problem:
    """Returns what estimators are built from."""
    env_id = self.config.env_id
    mdp = environments.mdp_of(env_id) if env_id else None
    return tasks.make_problem(
        self.target, dataset, self._specs, self.config.gamma, mdp
    )


def has_frames(
    config: LoggedTaskConfig, server_timeout: float, stream: bool = False
) -> bool:
  """Returns whether the data are stacks of frames."""
  logged = _logged(config, server_timeout, stream)
  return tasks.has_frames((logged.observation_spec, logged.action_spec))


def _logged(config: LoggedTaskConfig, timeout: float, stream: bool):
  """Returns the data, or a stream of them."""
  stamp = _stamp(config.data)
  if not stream:
    return _opened(config.data, config.columns, timeout, stamp)
  time_limit = _time_limit(config.env_id)
  return _served(
      config.data, config.columns, config.accept, time_limit, timeout, stamp
  )


_serving = contextlib.ExitStack()  # The process that serves data.
atexit.register(_serving.close)


@functools.lru_cache(maxsize=1)
def _served(data, columns, accept, time_limit, timeout, stamp):
  """Lets a process read data once, as long as they stay the same."""
  del stamp
  _serving.close()
  return _serving.enter_context(
      private_server.data(data, columns, _list(accept), time_limit, timeout)
  )


@functools.lru_cache(maxsize=1)
def _opened(data: str, columns: str, timeout: float, stamp):
  """Reads data once in a process, as long as they stay the same."""
  del stamp
  return opening.open_data(data, columns, timeout)


def _stamp(data: str):
  """Returns what changes if a file does; directories and servers are trusted.

  To read a server again would take as long as the first time; the checksum of
  what was read is that of the run.
  """
  if not os.path.isfile(data):
    return None
  found = os.stat(data)
  return found.st_mtime_ns, found.st_size, found.st_ino


def _with_bounds(logged, env_id: str):
  """Returns the data with the specs of an environment, if one is named."""
  if not env_id:
    return logged
  env = environments.load(env_id)
  specs = map(
      tensor_spec.from_spec, (env.observation_spec(), env.action_spec())
  )
  observation_spec, action_spec = specs
  for name, spec, found in (
      ('observations', observation_spec, logged.observation_spec),
      ('actions', action_spec, logged.action_spec),
  ):
    is_same_kind = spec.dtype.is_integer == found.dtype.is_integer
    if spec.shape != found.shape or not is_same_kind:
      raise errors.UserError(
          'env',
          env_id,
          f'its {name} are {base.describe(spec)}, those of the data are'
          f' {base.describe(found)}',
      )
  return dataclasses.replace(
      logged,
      observation_spec=observation_spec,
      action_spec=action_spec,
      bounds_known=True,
  )


def _list(text: str) -> list[str]:
  return text.split(',') if text else []


def _time_limit(env_id: str) -> int | None:
  """Returns the environment's limit on steps, if it is known."""
  try:  # What the source of the data names need not be on this machine.
    return environments.time_limit(env_id) if env_id else None
  except errors.UserError:
    return None
