"""Policy and data of a library call, in any of the forms that it takes."""

from collections.abc import Mapping
from collections.abc import Sequence
import os

from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf.data import check
from srdice_tf.data import datasets
from srdice_tf.data import findings
from srdice_tf.data import logged
from srdice_tf.data import opening
from srdice_tf.data import streamed
from srdice_tf.experiments import arguments
from srdice_tf.policies import loading
from srdice_tf.policies import policy_requests
from srdice_tf.policies import python_function
from srdice_tf.policies import settings


def policy_and_data(
    policy, data, columns: str = '', accept: Sequence[str] | str = ()
) -> tuple[tf_policy.TFPolicy, datasets.Dataset]:
  """Returns a policy whose actions a seed determines, and a data set.

  Args:
    policy: a TFPolicy, the name of one, or a function of states.
    data: a Dataset, which is taken as it is, episodes, arrays by name, or the
      name of data.
    columns: of a table, if the data are one.
    accept: what `findings` calls errors and the caller knows to be right.

  Raises:
    UserError: if one of them cannot be used.
  """
  accept = [accept] if isinstance(accept, str) else list(accept)
  found = _logged(data, columns, accept)
  if isinstance(policy, str | os.PathLike):
    policy = _loaded(os.fspath(policy), found)
  elif _is_function(policy):
    policy = python_function.make(_request('policy', found), policy)
  dataset = found.dataset if isinstance(found, logged.Logged) else found
  return arguments.check_policy(policy), dataset


def _logged(
    data, columns: str, accept: list[str]
) -> logged.Logged | datasets.Dataset:
  """Returns the data; a Dataset, or what cannot be one, as it is."""
  where = 'data'
  if isinstance(data, str | os.PathLike):
    where = f'data={data}'
    found = opening.open_data(os.fspath(data), columns)
  elif columns:
    raise errors.UserError(
        'columns', columns, 'plays no part; only files of tables have columns'
    )
  elif isinstance(data, list | tuple):
    found = datasets.Dataset.from_episodes(data)
    check.check_usable(found, where)
    found = logged.described_by_itself(found)
  elif isinstance(data, Mapping):
    found = opening.from_arrays(data, where)
  elif isinstance(data, logged.Logged):
    found = data
    if isinstance(data.dataset, streamed.StreamedDataset):
      return found  # The process that serves them has checked them.
  else:
    return data  # It is checked with its contents.
  findings.check_logged(found, where, accepted=accept)
  return found


def _is_function(policy) -> bool:
  is_other = isinstance(policy, tf_policy.TFPolicy | type)
  return callable(policy) and not is_other


def _loaded(name: str, found) -> tf_policy.TFPolicy:
  request = _request(name, found)
  policy = loading.load(
      name, request.env_id, *request.specs, bounds_known=request.bounds_known
  )
  sigma = settings.TARGET_SIGMA if loading.is_shipped(name) else None
  return settings.target_policy(policy, sigma)


def _request(name: str, found) -> policy_requests.Request:
  """Returns what is asked of a policy for these data."""
  if not isinstance(found, logged.Logged):
    arguments.check_dataset(found)
    found = logged.described_by_itself(found)
  specs = found.observation_spec, found.action_spec
  return policy_requests.Request(
      name, found.env_id, specs, 'policy', found.bounds_known
  )
