"""What data say of themselves, and whether that is what was asked for."""

import dataclasses

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import clients
from srdice_tf.replay import descriptions
from srdice_tf.replay import directories

_REQUIRED = {
    'environment': dict,
    'policy': str,
    'policy_checksum': str,
    'setting': str,
    'num_transitions': int,
    'num_envs': int,
    'seed': int,
    'collector': int,
}
_NUMBERS = settings.BEHAVIOUR_NUMBERS
# Collectors that fill one server differ in the others.
_SHARED = ('environment', 'policy_checksum', 'setting', *_NUMBERS)


@dataclasses.dataclass(frozen=True)
class Provenance:
  """Where data come from.

  Attributes:
    where: the field that names the data, with its value.
    description: as of CollectConfig; of several collectors the first one's,
      with the sum of their transitions.
    collectors: their numbers.
    is_complete: whether all that was to be collected is there.
  """

  where: str
  description: dict
  collectors: tuple[int, ...]
  is_complete: bool

  @property
  def can_go_on(self) -> bool:
    """Whether one collection here would make what is missing."""
    return not self.is_complete and self.collectors == (0,)

  def follow(self, config, seed: int | None):
    """Returns the task and the seed, with what they leave open from the data.

    Args:
      config: a TaskConfig.
      seed: of the data; None if any will do.

    Raises:
      UserError: naming the flag if one that was set differs from the data.
    """
    self._check_environment(config.env_id)
    name = config.behaviour_policy or config.policy
    if name == loading.RANDOM != self.description['policy']:
      # Before the numbers of the data's noise, which it cannot take.
      raise self._other_policy(config, name)
    found = self.description
    fields = {'behaviour_checksum': found['policy_checksum']}
    for name in ('setting', 'num_transitions', 'num_envs', *_NUMBERS):
      given = getattr(config, name)
      is_open = given is None if name in _NUMBERS else not given
      if is_open:
        fields[name] = found.get(name)
      elif given != found.get(name):
        raise self._refusal(name, given, found.get(name))
    if seed not in (None, found['seed']):
      raise self._refusal('seed', seed, found['seed'])
    if not config.policy:
      fields |= self._policies(config)
    return dataclasses.replace(config, **fields), found['seed']

  def _refusal(self, field: str, given, there) -> errors.UserError:
    return errors.UserError(
        field,
        given,
        f'the data of {self.where} have {there}; leave {field} out, or name'
        ' other data',
    )

  def _check_environment(self, env_id: str):
    found = self.description['environment']
    if found.get('id') != env_id:
      raise self._refusal('env', env_id, found.get('id'))
    wanted = environments.description(env_id)
    for field in {**found, **wanted}:
      if found.get(field) != wanted.get(field):
        raise errors.at(
            self.where,
            f'its environment has {field} {found.get(field)}, asked for is'
            f' {wanted.get(field)}',
        )

  def _policies(self, config) -> dict:
    """Returns the policies if none is said to be evaluated."""
    policy = self.description['policy']
    is_separate = self.description['setting'] == settings.SEPARATE
    return {
        'policy': loading.PRETRAINED if is_separate else policy,
        'behaviour_policy': config.behaviour_policy or policy,
    }

  def check_policy(self, given, resolved):
    """Checks that the behaviour policy is the one that made the data.

    Args:
      given: the TaskConfig as the user gave it.
      resolved: the same with all that was open, by `Task`.

    Raises:
      UserError: if it is another one.
    """
    policy, checksum = (
        self.description[name] for name in ('policy', 'policy_checksum')
    )
    name = resolved.behaviour_policy
    if resolved.behaviour_checksum == checksum:
      return
    if name == policy:
      raise errors.at(
          self.where,
          f'the data are of the policy {name} with the checksum'
          f' {checksum[:12]}, now it has {resolved.behaviour_checksum[:12]}',
          'collect again, or name the earlier policy with behaviour_policy',
      )
    raise self._other_policy(given, name)

  def _other_policy(self, given, name: str) -> errors.UserError:
    policy = self.description['policy']
    if given.behaviour_policy:
      return self._refusal('behaviour_policy', name, policy)
    return errors.UserError(
        'policy',
        name,
        f'the data of {self.where} are of the policy {policy}; to evaluate'
        f' {name} on them add behaviour_policy={policy}',
    )


def of_directory(path: str) -> Provenance | None:
  """Returns where the data in a directory come from; None if there are none.

  Raises:
    UserError: if its description cannot be used.
  """
  directory = directories.DatasetDirectory(path)
  if not directory.exists():
    return None
  found = directory.read()
  if not found['collectors']:  # A server was stopped before anyone came.
    return None
  is_complete = found['status'] == directories.COMPLETE
  return _joined(f'dataset_dir={path}', found['collectors'], is_complete)


def of_server(client: clients.ReplayClient) -> Provenance:
  """Returns where the data of a server come from.

  Raises:
    UserError: if it is not full yet.
  """
  where = f'reverb_address={client.address}'
  collectors = list(client.metadata().values())
  found = descriptions.describe(collectors, _counts(collectors))
  if found['status'] != descriptions.COMPLETE:
    raise errors.at(
        where,
        f'{found["counts"]["transitions"]:,} of {found["num_transitions"]:,}'
        ' transitions are there',
        'wait for its collectors, or repeat the command of a stopped one',
    )
  return _joined(where, collectors, is_complete=True)


def _counts(collectors: list[dict]) -> dict[str, int]:
  return {
      name: sum(each.get('counts', {}).get(name, 0) for each in collectors)
      for name in ('transitions', 'episodes')
  }


def _joined(where: str, collectors: list[dict], is_complete) -> Provenance:
  """Returns the data of several collectors as those of one."""
  for each in collectors:
    for name, kind in _REQUIRED.items():
      if not isinstance(each.get(name), kind):
        raise errors.at(
            where,
            f'{name} in its description is {each.get(name)}; it was edited',
            'collect the data again',
        )
  first = min(collectors, key=lambda each: each['collector'])
  for name in _SHARED:
    for each in collectors:
      if each.get(name) != first.get(name):
        raise errors.at(
            where,
            f'its collectors differ in {name}, {first.get(name)} and'
            f' {each.get(name)}',
            'expected data of one behaviour policy',
        )
  _check_numbers(where, first)
  size = sum(each['num_transitions'] for each in collectors)
  numbers = tuple(each['collector'] for each in collectors)
  return Provenance(
      where, {**first, 'num_transitions': size}, numbers, is_complete
  )


def _check_numbers(where: str, description: dict):
  """Checks that the numbers of the noise are there, None if of no use.

  Raises:
    UserError: if not: earlier versions did not store them.
  """
  missing = [name for name in _NUMBERS if name not in description]
  if missing:
    raise errors.at(
        where,
        f"its description lacks the noise's numbers {', '.join(missing)}, which"
        ' earlier versions did not store',
        'collect the data again',
    )
