"""An evaluation from logged data alone; an environment is not needed."""

import dataclasses
import os
import re

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import ranges
from srdice_tf.data import check
from srdice_tf.data import datasets
from srdice_tf.data import findings
from srdice_tf.data import opening
from srdice_tf.estimators import problems
from srdice_tf.experiments import tasks
from srdice_tf.experiments import truth_fields
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.policies import target_actions

_NOT_IN_NAMES = re.compile(r'[^\w.-]+')


@dataclasses.dataclass(frozen=True)
class LoggedTaskConfig(truth_fields.TruthFields):
  """Which logged data, and which policy is evaluated on them.

  Attributes:
    data: a file, a directory or a name, as `opening.open_data` takes it.
    policy: name of the policy, which is evaluated as it is; '' if its actions
      are given.
    target_actions: a file of the target policy's actions at next and start
      states, instead of a policy.
    columns: what the columns of a table mean.
    env_id: an environment that gives the specs, and true values by roll-outs;
      '' if there is none.
    gamma: discount.
    target_sigma: of Gaussian noise around the policy; None for none.
    policy_checksum: of the policy, which `LoggedTask` fills in.
  """

  data: str
  policy: str = ''
  target_actions: str = ''
  columns: str = ''
  env_id: str = ''
  gamma: float = ranges.inside(0, 1, 0.99)
  target_sigma: float | None = ranges.at_least(0, None)
  policy_checksum: str = ''

  names_data = True
  setting = ''  # Nobody knows how the data were made.

  def __post_init__(self):
    super().__post_init__()
    if self.has_rollouts and not self.env_id:
      raise errors.UserError(
          'truth', self.truth, 'roll-outs need an environment; name it with env'
      )
    if bool(self.policy) == bool(self.target_actions):
      raise errors.UserError(
          'policy',
          self.policy,
          'expected the policy that is evaluated, or its actions with'
          ' target_actions',
      )

  @property
  def name(self) -> str:
    """What directories of runs are called."""
    stems = (
        os.path.splitext(os.path.basename(os.path.normpath(each)))[0]
        for each in (self.data, self.policy or self.target_actions)
    )
    return '_'.join(_NOT_IN_NAMES.sub('_', stem) for stem in stems)

  @property
  def hparams(self) -> dict:
    """What TensorBoard compares runs by."""
    return {
        'env': self.env_id,
        'data': self.data,
        'policy': self.policy or self.target_actions,
        'gamma': self.gamma,
    }


class LoggedTask:
  """Logged data and a policy for them.

  Attributes:
    config: the LoggedTaskConfig, with nothing left open.
    target: the policy that is evaluated; None if only its actions are known.
    behaviour: None, for nobody knows it.
    notes: what was assumed of the data or is odd about them, as lines.
  """

  behaviour = None

  def __init__(self, config: LoggedTaskConfig):
    """Reads the data and loads the policy.

    Raises:
      UserError: if data or policy cannot be used, or do not fit each other.
    """
    logged = opening.open_data(config.data, config.columns)
    self._dataset = logged.dataset
    warnings = findings.check_logged(logged, f'data={config.data}')
    self.notes = (*logged.notes, *warnings)
    self._specs, bounds_known = _specs(logged, config.env_id)
    self.target = None
    if config.target_actions:
      actions = target_actions.load(config.target_actions, *self._specs)
      checksum = actions.checksum
    else:
      base = loading.load(
          config.policy, config.env_id, *self._specs, bounds_known=bounds_known
      )
      self.target = settings.as_it_is(base, config.target_sigma)
      self._specs = self._specs[0], self.target.action_spec
      checksum = loading.checksum(base)
    check.check_specs(self._dataset, *self._specs)
    self.config = dataclasses.replace(config, policy_checksum=checksum)

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

  def problem(self, dataset: datasets.Dataset) -> problems.Problem:
    """Returns what estimators are built from."""
    mdp = environments.mdp_of(self.config.env_id) if self.config.env_id else None
    return tasks.make_problem(
        self.target, dataset, self._specs, self.config.gamma, mdp
    )


def _specs(logged, env_id: str) -> tuple[tuple, bool]:
  """Returns the specs, and whether the bounds of actions are known."""
  if not env_id:
    return (logged.observation_spec, logged.action_spec), logged.bounds_known
  env = environments.load(env_id)
  return (env.observation_spec(), env.action_spec()), True
