"""True values: one function for every caller, and the file that keeps them.

The value is exact where the MDP is finite and the policy's probabilities are
known, by roll-outs elsewhere. truth.json keeps the batches of roll-outs, each
under all that they depend on; what is made of them is computed at each reading,
so that it fits the number of roll-outs that is asked for.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os

from tf_agents.policies import tf_policy

from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import finite
from srdice_tf import results
from srdice_tf.evaluation import rollouts
from srdice_tf.policies import actions

FILE_NAME = 'truth.json'
NAMES = 'target', 'behaviour'


def of_task(
    task, directory: str, names=NAMES
) -> dict[str, results.PolicyValue]:
  """Returns the true values of a task's policies, as far as they can be known.

  Args:
    task: experiments.tasks.Task, or another with its attributes.
    directory: where truth.json is, or will be.
    names: which of 'target' and 'behaviour'.

  Raises:
    UserError: if the file is damaged.
  """
  config = task.config
  known = config.known_truth(config.gamma)
  if not config.has_rollouts:
    return {} if known is None else {'target': known}
  roll_outs = rollouts.RollOutConfig(
      config.env_id, config.gamma, keep_time_limit=config.keep_time_limit
  )
  found = {}
  for name in names:
    if getattr(task, name) is None:
      continue
    cache = Cache(directory, roll_outs, task.policy_descriptions[name])
    found[name] = value(
        roll_outs,
        getattr(task, name),
        config.truth_episodes,
        config.truth_max_episodes,
        cache,
    )
  return found


def value(
    config: rollouts.RollOutConfig,
    policy: tf_policy.TFPolicy,
    num_episodes: int = 0,
    max_episodes: int = 1000,
    cache: 'Cache | None' = None,
) -> results.PolicyValue:
  """Returns the true value of a policy.

  Args:
    config: what is rolled out.
    policy: with its noise.
    num_episodes: as for `rollouts.measure`; so is the next.
    max_episodes: the most roll-outs, where their number is not given.
    cache: keeps the roll-outs, so that an interrupted run goes on.
  """
  mdp = environments.mdp_of(config.env_id)
  table = mdp and actions.probability_table(policy, mdp.num_states)
  if table is not None:
    # Roll-outs are for the return and its deviation only.
    num_episodes = num_episodes or rollouts.BATCH_SIZE
  known, on_batch = (cache.read(), cache.add) if cache else (None, _ignore)
  found = rollouts.measure(
      config, policy, num_episodes, max_episodes, known, on_batch
  )
  if table is None:
    return found
  occupancy = mdp.occupancy(table, config.gamma)  # [S, A]
  counted = occupancy - _behind_limit(mdp, table, config)  # [S, A]
  return dataclasses.replace(
      found,
      value=float((counted * mdp.rewards).sum()),
      standard_error=0.0,
      occupancy=float(occupancy.sum()),
      exact=True,
  )


def _behind_limit(mdp: finite.FiniteMDP, table, config):
  """Returns the part of d_pi [S, A] that the time limit cuts off."""
  if not config.keep_time_limit:
    return 0.0
  states = mdp.start  # [S]
  between_states = finite.under_policy(mdp.transition, table)  # [S, S]
  for _ in range(config.own_limit):
    states = states @ between_states
  later = finite.occupancy(mdp.transition, table, states, config.gamma)
  return config.gamma**config.own_limit * later


class Cache:
  """The roll-outs of one policy in a truth.json, which others share.

  Each entry has a checksum. The file is replaced as a whole, by one process at
  a time, which adds to what is there.
  """

  def __init__(
      self, directory: str, config: rollouts.RollOutConfig, policy: dict
  ):
    """Names the entry.

    Args:
      directory: of the file.
      config: what is rolled out.
      policy: all that the policy is made of, as JSON takes it.
    """
    self._path = os.path.join(directory, FILE_NAME)
    self._of = {
        **dataclasses.asdict(config),
        'environment': environments.description(config.env_id),
        'policy': policy,
    }
    self._key = checksum(self._of)

  def read(self) -> dict[str, rollouts.RollOutBatch]:
    """Returns the batches of roll-outs that are there, by name.

    Raises:
      UserError: if the file is damaged.
    """
    entry = _read(self._path).get(self._key, {'batches': {}})
    return {
        name: rollouts.RollOutBatch(**fields)
        for name, fields in entry['batches'].items()
    }

  def add(self, name: str, batch: rollouts.RollOutBatch):
    """Adds a batch to the file."""
    os.makedirs(os.path.dirname(self._path) or '.', exist_ok=True)
    with locked(f'{self._path}.lock'):
      entries = _read(self._path)
      entry = entries.get(self._key, {'of': self._of, 'batches': {}})
      entry['batches'][name] = batch._asdict()
      entries[self._key] = _sealed(entry)
      config_file.write_json(self._path, entries)


def merge(source: str, directory: str):
  """Adds the roll-outs of one truth.json to another.

  Args:
    source: directory of the one; nothing is done if there is none.
    directory: of the other, which is made if need be.

  Raises:
    UserError: if one of the files is damaged.
  """
  added = _read(os.path.join(source, FILE_NAME))
  if not added:
    return
  path = os.path.join(directory, FILE_NAME)
  os.makedirs(directory, exist_ok=True)
  with locked(f'{path}.lock'):
    entries = _read(path)
    for key, entry in added.items():
      known = entries.get(key, {}).get('batches', {})
      batches = {**entry['batches'], **known}
      entries[key] = _sealed({**entry, 'batches': batches})
    config_file.write_json(path, entries)


def _read(path: str) -> dict[str, dict]:
  """Returns the entries of a truth.json; none if there is no file."""
  if not os.path.exists(path):
    return {}
  advice = 'remove the file, and true values are measured again'
  entries = config_file.read_json(path, advice)
  for key, entry in entries.items():
    is_whole = isinstance(entry, dict) and entry == _sealed(entry)
    if not is_whole or key != checksum(entry['of']):
      raise errors.at(
          path,
          f'the entry {key[:12]} was cut short or edited, its checksum does not'
          ' fit',
          advice,
      )
  return entries


def _sealed(entry: dict) -> dict:
  """Returns the entry with its checksum."""
  content = {k: v for k, v in entry.items() if k != 'checksum'}
  return {**content, 'checksum': checksum(content)}


def checksum(content) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
  """Lets one process at a time into the context."""
  with open(path, 'w') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    yield


def _ignore(name: str, batch: rollouts.RollOutBatch):
  del name, batch
