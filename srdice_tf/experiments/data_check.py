"""Looks through logged data before they are evaluated."""

import dataclasses

import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.data import check
from srdice_tf.data import data_summary
from srdice_tf.data import finding
from srdice_tf.data import findings
from srdice_tf.data import logged
from srdice_tf.data import opening
from srdice_tf.evaluation import support
from srdice_tf.policies import base
from srdice_tf.policies import loading

# Of the policy's actions that are far from any logged one; the behaviour
# policy itself has 1%.
_FAR_SHARE, _MOST = 0.05, 0.5


@dataclasses.dataclass(frozen=True)
class DataRequest:
  """What is to be looked through, and for what.

  Attributes:
    data: name of the data, see `opening.open_data`.
    columns: of a table.
    policy: name of the policy that is to be evaluated; '' if it is not known.
    env_id: the environment that the data are said to be of; '' for none.
    accept: names of findings that the user knows to be right, with commas
      between them.
    seed: of the states at which the policy's actions are looked at.
  """

  data: str
  columns: str = ''
  policy: str = ''
  env_id: str = ''
  accept: str = ''
  seed: int = 0


@dataclasses.dataclass(frozen=True)
class DataCheck:
  """What was found.

  Attributes:
    request: what was asked for.
    summary: what is in the data.
    bounds_known: whether bounds of actions are known, not those of the data.
    notes: what the source assumed or left out.
    findings: what is wrong or worth knowing, errors first.
    action_support: what the data give to the policy; None if it was not
      measured.
  """

  request: DataRequest
  summary: data_summary.DataSummary
  bounds_known: bool
  notes: tuple[str, ...]
  findings: tuple[finding.DataFinding, ...]
  action_support: support.ActionSupport | None = None

  @property
  def num_errors(self) -> int:
    return len(self._errors)

  @property
  def acceptable(self) -> list[str]:
    """Names of the errors that some data rightly have."""
    names = dict.fromkeys(each.name for each in self._errors)
    return [name for name in names if name in findings.ACCEPTABLE]

  @property
  def _errors(self) -> list[finding.DataFinding]:
    return [each for each in self.findings if each.severity == finding.ERROR]


def run(request: DataRequest) -> DataCheck:
  """Returns what is in data, and what an evaluation of them would lack.

  Raises:
    UserError: if the data cannot be read at all.
  """
  accepted = request.accept.split(',') if request.accept else []
  findings.check_accepted(accepted)
  data = opening.open_data(request.data, request.columns)
  others = []
  if request.env_id:
    data, others = _of_environment(data, request.env_id)
  found = findings.find(data, _time_limit(data, request), accepted)
  is_finite = not any(each.name == 'not_finite' for each in found)
  supported = None
  if request.policy:
    supported, of_policy = _of_policy(data, request, is_finite)
    others += of_policy
  found = sorted(
      [*others, *found], key=lambda each: each.severity != finding.ERROR
  )
  return DataCheck(
      request,
      data_summary.summary_of(findings.view_of(data)),
      data.bounds_known,
      tuple(data.notes),
      tuple(found),
      supported,
  )


def _time_limit(data: logged.Logged, request: DataRequest) -> int | None:
  """Returns the environment's limit on steps, if it is known."""
  if request.env_id:
    return environments.time_limit(request.env_id)
  try:  # What the source names need not be on this machine.
    return environments.time_limit(data.env_id) if data.env_id else None
  except errors.UserError:
    return None


def _of_environment(
    data: logged.Logged, env_id: str
) -> tuple[logged.Logged, list[finding.DataFinding]]:
  """Returns the data with the environment's bounds, and what does not fit."""
  env = environments.load(env_id)
  specs = [
      tensor_spec.from_spec(spec)
      for spec in (env.observation_spec(), env.action_spec())
  ]
  wrong = []
  names = ('observation', 'action')
  for name, spec, found in zip(
      names, specs, (data.observation_spec, data.action_spec)
  ):
    is_same_kind = spec.dtype.is_integer == found.dtype.is_integer
    if spec.shape != found.shape or not is_same_kind:
      wrong.append(
          finding.error(
              'environment',
              f'{name}s are {base.describe(found)}, those of {env_id} are'
              f' {base.describe(spec)}',
          )
      )
  if wrong:
    return data, wrong
  data = dataclasses.replace(
      data, observation_spec=specs[0], action_spec=specs[1], bounds_known=True
  )
  return data, []


def _of_policy(
    data: logged.Logged, request: DataRequest, is_finite: bool
) -> tuple[support.ActionSupport | None, list[finding.DataFinding]]:
  """Returns the support of the policy, and what it needs but does not have."""
  specs = data.observation_spec, data.action_spec
  env_id = request.env_id or data.env_id
  try:
    policy = loading.load(
        request.policy, env_id, *specs, bounds_known=data.bounds_known
    )
    check.check_specs(
        data.dataset, policy.time_step_spec.observation, policy.action_spec
    )
    if not is_finite:
      return None, []
    found = support.of_policy(data.dataset, policy, request.seed)
  except errors.UserError as error:
    return None, [finding.error('policy', str(error).rstrip('.'))]
  return found, [*_bounds(data), *_far(found)]


def _bounds(data: logged.Logged) -> list[finding.DataFinding]:
  if data.bounds_known or data.action_spec.dtype.is_integer:
    return []
  low, high = (
      ', '.join(f'{x:.4g}' for x in tf.reshape(bound, [-1]).numpy()[:8])
      for bound in (data.action_spec.minimum, data.action_spec.maximum)
  )
  return [
      finding.warning(
          'bounds',
          f'the bounds of actions are not known; taken are [{low}] to [{high}],'
          ' those of the logged ones: a policy that scales its actions to the'
          ' bounds (a file of weights, say) acts otherwise',
      )
  ]


def _far(found: support.ActionSupport) -> list[finding.DataFinding]:
  if found.far_share < _FAR_SHARE:
    return []
  share = finding.share_text(found.far_share)
  text = f"{share} of the policy's actions are far from any logged one"
  if found.far_share >= _MOST:
    text += ': the data do not tell what the policy is worth'
  return [finding.warning('support', text)]
